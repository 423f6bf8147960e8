// The pages of docs/ are what the tables say.
import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { PAGES } from '../../ts/cli/pages.ts'
import { CORE_ERROR_KINDS } from '../../ts/core/error.ts'
import { METHODS } from '../../ts/rpc/table.ts'

const read = (file: string): string => fs.readFileSync(path.resolve(import.meta.dirname, '../../docs', file), 'utf8')

describe('docs', () => {
  it.each(Object.entries(PAGES))('%s is up to date (npm run docs writes it)', (file, page) => {
    expect(read(file)).toBe(page())
  })

  it('name every method and every kind of failure', () => {
    for (const { name } of METHODS) expect(read('rpc.md')).toContain(`| \`${name}\` |`)
    for (const kind of CORE_ERROR_KINDS) expect(read('errors.md')).toContain(`| \`${kind}\` |`)
  })

  it('SECURITY.md names a private channel, no address', () => {
    const [, reporting = ''] = read('../SECURITY.md').split(/^## /m)
    expect(reporting).toMatch(/^Reporting a vulnerability\n/)
    expect(reporting).toContain('choose "Report a vulnerability"')
    expect(reporting).not.toMatch(/address|commits|@/)
  })
})
