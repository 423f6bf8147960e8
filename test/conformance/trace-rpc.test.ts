// Besu's chain of 33 blocks: import it, start the node, replay every recorded trace_* request and
// compare the answers.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hearth, type RunningNode, startNode } from '../e2e/harness.ts'
import { fixtures } from './fixtures.ts'

const dir = fixtures('trace-rpc')

interface Case {
  readonly name: string
  readonly request: unknown
  readonly response: unknown
}

function read(file: string): unknown {
  const bytes = fs.readFileSync(file)
  return JSON.parse((file.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString())
}

type Answer = { error?: { code: number; message?: string } }

/** An answer without the texts of errors, which are each client's own. */
function comparable(answer: unknown): unknown {
  if (Array.isArray(answer)) return answer.map(comparable)
  const { error, ...rest } = answer as Answer
  return error === undefined ? rest : { ...rest, error: { code: error.code } }
}

/** Besu leaves creationMethod out of trace_call, trace_callMany and trace_rawTransaction. */
function asWanted(have: unknown, want: unknown): unknown {
  if (typeof have !== 'object' || typeof want !== 'object' || have === null || want === null) return have
  if (Array.isArray(have)) return have.map((entry, i) => asWanted(entry, (want as unknown[])[i]))
  const wanted = want as Record<string, unknown>
  const kept = Object.entries(have).filter(([key]) => key !== 'creationMethod' || !('init' in wanted) || key in wanted)
  return Object.fromEntries(kept.map(([key, value]) => [key, asWanted(value, wanted[key])]))
}

describe.skipIf(!dir)('trace_*', () => {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-trace-rpc-'))
  const root = path.join(dir ?? '', 'cases')
  const excluded = dir ? (read(path.join(dir, 'excluded.json')) as Record<string, string>) : {}
  const files = dir ? fs.readdirSync(root).sort() : []
  let node: RunningNode
  beforeAll(async () => {
    const [genesis, chain] = ['genesis.json', 'chain.rlp'].map((file) => path.join(dir ?? '', file)) as [string, string]
    const imported = hearth(['import', '--home', home, '--genesis', genesis, chain])
    expect(imported.stderr).not.toMatch(/error/i)
    expect(imported.status).toBe(0)
    node = await startNode(['start', '--home', home])
  })
  afterAll(async () => {
    expect(await node.stop()).toBe(0)
    fs.rmSync(home, { recursive: true, force: true })
  })

  it.each(files)('%s', async (file) => {
    const cases = (read(path.join(root, file)) as readonly Case[]).filter(({ name }) => !(name in excluded))
    expect(cases.length).toBeGreaterThan(5)
    for (const { name, request, response } of cases) {
      const r = await fetch(node.url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(request) })
      const want = comparable(response)
      expect(asWanted(comparable(await r.json()), want), name).toEqual(want)
    }
  })
})
