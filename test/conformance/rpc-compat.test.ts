// The execution-apis chain: import it, start the node, replay every recorded request of a method
// that Hearth has.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { METHODS } from '../../ts/rpc/table.ts'
import { hearth, type RunningNode, startNode } from '../e2e/harness.ts'
import { fixtures } from './fixtures.ts'

const dir = fixtures('rpc-compat')

interface Case {
  name: string
  method: string
  lines: string[]
}

function cases(root: string): Case[] {
  return fs
    .readdirSync(root, { withFileTypes: true })
    .filter((e) => e.isDirectory())
    .flatMap((e) =>
      fs.readdirSync(path.join(root, e.name)).map((file) => ({
        name: `${e.name}/${file}`,
        method: e.name,
        lines: fs.readFileSync(path.join(root, e.name, file), 'utf8').split('\n'),
      })),
    )
}

/** A response without the message of its error: its wording is each client's own. */
function comparable(text: string): unknown {
  const response = JSON.parse(text) as { error?: { message?: string } }
  if (response.error) delete response.error.message
  return response
}

describe.skipIf(!dir)('execution-apis', () => {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-compat-'))
  let node: RunningNode
  beforeAll(async () => {
    const imported = hearth([
      'import',
      '--home',
      home,
      '--genesis',
      path.join(dir ?? '', 'genesis.json'),
      path.join(dir ?? '', 'chain.rlp'),
    ])
    expect(imported.stderr).not.toMatch(/error/i)
    expect(imported.status).toBe(0)
    // Namespace testing is served only where it is named.
    node = await startNode(['start', '--home', home, '--evm.namespaces=eth,net,web3,debug,txpool,rpc,chain,testing'])
  })
  afterAll(async () => {
    expect(await node.stop()).toBe(0)
    fs.rmSync(home, { recursive: true, force: true })
  })

  const known = dir ? cases(dir) : []
  const names = new Set(METHODS.map((m) => m.name))
  const later = known.filter((c) => !names.has(c.method))
  console.log(`skipped: ${later.length} of ${known.length} execution-apis cases are of methods that are not there yet`)

  it.each(known.filter((c) => names.has(c.method)))('$name', async ({ lines }) => {
    const specOnly = lines.some((l) => l.startsWith('// speconly'))
    let answer = ''
    for (const line of lines) {
      if (line.startsWith('>> ')) {
        const r = await fetch(node.url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: line.slice(3) })
        answer = await r.text()
      } else if (line.startsWith('<< ')) {
        const want = comparable(line.slice(3)) as { error?: unknown }
        const have = comparable(answer) as { error?: unknown }
        if (specOnly) expect(have.error === undefined).toBe(want.error === undefined)
        else expect(have).toEqual(want)
      }
    }
  })
})
