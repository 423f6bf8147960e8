// Forms that are too large for a link: this tab keeps the last ones, and no other tab has them.
import type { WhatIf } from '../../explore/index.ts'

/** Most of them, each with at most `FORM_BYTES_MAX`; the oldest one goes. */
export const LOCALS_MAX = 20

/** Largest form, as JSON, in bytes. */
export const FORM_BYTES_MAX = 4 * 1024 * 1024

/** Prefix of their names, which stand in the address in place of the form. */
const LOCAL = 'local-'

const locals = new Map<string, WhatIf>()
let lastNumber = 0

/** Whether a fragment is the name of such a form. */
export const isLocal = (fragment: string): boolean => fragment.startsWith(LOCAL)

/** Keeps a form; its name, which no other form of this tab had. */
export function keepLocal(whatIf: WhatIf): string {
  const name = `${LOCAL}${++lastNumber}`
  locals.set(name, whatIf)
  if (locals.size > LOCALS_MAX) locals.delete(locals.keys().next().value as string)
  return name
}

/** The form of a name; throws where this tab does not have it. */
export function localForm(name: string): WhatIf {
  const local = locals.get(name)
  if (local !== undefined) return local
  throw new Error(
    `this form was too large for a link: the tab that made it has it, until that has made ${LOCALS_MAX} more or is loaded again`,
  )
}

/** Throws where a form of so many bytes is larger than may be read. */
export function checkForm(bytes: number): void {
  if (bytes > FORM_BYTES_MAX) throw new Error(`the form has more than ${FORM_BYTES_MAX} bytes`)
}
