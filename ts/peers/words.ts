// Texts of other nodes, made fit for terminals, logs and errors.

/** Longest text of another node that is shown, in UTF-16 units. */
export const FOREIGN_TEXT_MAX = 2048

/**
 * Controls of ASCII and Latin-1, separators of lines, and marks that change the direction of
 * writing (Unicode TR36).
 */
const UNFIT = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g

/** A text of another node without controls, which a terminal would obey, and of bounded length. */
export function foreignText(text: string): string {
  const shown = text.slice(0, FOREIGN_TEXT_MAX).replace(UNFIT, '\ufffd')
  return text.length > FOREIGN_TEXT_MAX ? `${shown}…` : shown
}
