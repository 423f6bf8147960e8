// Text from a contract, made harmless: it moves no cursor, sets no colour and hides no direction.

/** Longest text of a contract that is shown, in characters. */
export const SHOWN_MAX = 256

/**
 * Control characters, ends of lines, and characters that change the direction of the following text
 * (Unicode bidi controls).
 */
const UNSAFE =
  /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g

/** The text with every unsafe character as an escape; cut unless `whole`. */
export function printable(text: string, whole = false): string {
  const cut = whole || text.length <= SHOWN_MAX ? text : `${text.slice(0, SHOWN_MAX)}…`
  return cut.replace(UNSAFE, (c) => `\\u{${c.charCodeAt(0).toString(16)}}`)
}
