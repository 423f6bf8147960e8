// Careful access to parsed JSON of files that anybody may have written.

/** A JSON object; undefined for anything else. */
export const objectOf = (value: unknown): Readonly<Record<string, unknown>> | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined

/** Own members of an object, `__proto__` like any other; none for anything else. */
export const entriesOf = (value: unknown): [string, unknown][] => {
  const object = objectOf(value)
  return object === undefined ? [] : Object.entries(object)
}

/** An own member; undefined where there is none. */
export const memberOf = (value: unknown, name: string): unknown => {
  const object = objectOf(value)
  return object !== undefined && Object.hasOwn(object, name) ? object[name] : undefined
}

/** A member of members. */
export const within = (value: unknown, ...names: readonly string[]): unknown => names.reduce<unknown>(memberOf, value)

export const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)

/** A whole number from 0 on, as a number or in decimal digits. */
export function countOf(value: unknown): number | undefined {
  const n = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value
  return typeof n === 'number' && Number.isSafeInteger(n) && n >= 0 ? n : undefined
}
