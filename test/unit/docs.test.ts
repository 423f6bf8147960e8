// docs/rpc.md is what the tables say.
import fs from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { rpcPage } from '../../ts/rpc/page.ts'
import { METHODS } from '../../ts/rpc/table.ts'

it('docs/rpc.md is up to date (npm run docs writes it) and names every method', () => {
  const page = fs.readFileSync(path.resolve(import.meta.dirname, '../../docs/rpc.md'), 'utf8')
  expect(page).toBe(rpcPage())
  for (const { name } of METHODS) expect(page).toContain(`\`${name}\``)
})
