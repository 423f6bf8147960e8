// What the address index costs a commit: imports with it and without it, in interleaved pairs.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { generatedChain } from '../chain.mjs'
import { HEARTH, run } from '../process.mjs'
import { median, spread } from '../stats.mjs'
import { verdict } from './rows.mjs'

/** The chain that is imported. */
const CHAIN = { blocks: 120, least: 200, most: 400 }

/** Imports a side. */
const IMPORTS = 45

/** Milliseconds of an import into a new home. */
function imported(chain, index) {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-bench-commit-'))
  const files = ['--genesis', path.join(chain.dir, 'genesis.json'), path.join(chain.dir, 'chain.rlp')]
  const began = process.hrtime.bigint()
  run(process.execPath, [HEARTH, 'import', '--home', home, `--evm.address_index=${index}`, ...files])
  const ms = Number(process.hrtime.bigint() - began) / 1e6
  fs.rmSync(home, { recursive: true, force: true })
  return ms
}

/** How much longer an import takes with the index. */
export async function commitRow(atMost) {
  const chain = await generatedChain(CHAIN)
  const times = { true: [], false: [] }
  imported(chain, false)
  for (let i = 0; i < IMPORTS; i++) for (const index of i % 2 ? [true, false] : [false, true]) times[index].push(imported(chain, index))
  const ratios = times.true.map((ms, i) => ms / times.false[i])
  const name = `import of ${chain.blocks} blocks, ${chain.transactions} transactions, with the address index for without (ms)`
  const wanted = `at most ${atMost} times as long${verdict(median(ratios) <= atMost)}`
  return [name, spread(times.true, 0), spread(times.false, 0), spread(ratios, 3), wanted]
}
