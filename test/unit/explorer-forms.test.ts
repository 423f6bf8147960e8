// Forms of the explorer that are too large for a link: how many a tab keeps, and what it says of
// others.
import { describe, expect, it } from 'vitest'
import type { WhatIf } from '../../ts/explore/index.ts'
import { checkForm, FORM_BYTES_MAX, isLocal, keepLocal, LOCALS_MAX, localForm } from '../../ts/web/tools/local-forms.ts'

const form = (n: number): WhatIf => ({ call: { nonce: n }, block: 'latest' })

describe('forms that are too large for a link', () => {
  it('are kept by their tab, the last ones', () => {
    expect(LOCALS_MAX).toBe(20)
    const names = Array.from({ length: LOCALS_MAX + 2 }, (_, n) => keepLocal(form(n)))
    expect(new Set(names).size).toBe(LOCALS_MAX + 2)
    expect(names.every(isLocal)).toBe(true)
    expect(names.slice(2).map(localForm)).toEqual(Array.from({ length: LOCALS_MAX }, (_, n) => form(n + 2)))
    const gone = 'this form was too large for a link: the tab that made it has it, until that has made 20 more or is loaded again'
    expect(() => localForm(names[0] as string)).toThrow(gone)
    expect(() => localForm(names[1] as string)).toThrow(gone)
    expect(() => localForm('local-of-another-tab')).toThrow(gone)
  })

  it('have a bound, which the message names', () => {
    expect(checkForm(FORM_BYTES_MAX)).toBeUndefined()
    expect(() => checkForm(FORM_BYTES_MAX + 1)).toThrow('the form has more than 4194304 bytes')
  })
})
