// Operations on a large home: a generated chain of executed blocks is imported with its roots,
// verified, rolled back, imported again, exported at a height, backed up. Every state root is
// compared with the generator's.
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { generatedChain } from './chain.mjs'
import { HEARTH } from './process.mjs'
import { table } from './stats.mjs'

/** Blocks of the chain, transactions in each, and accounts that the genesis has. */
const CHAIN = { blocks: 10_000, least: 200, most: 200, accounts: 1_000_000 }
const QUICK_CHAIN = { blocks: 100, least: 20, most: 20, accounts: 2_000 }

/** Runs hearth to its end; its report and the seconds that it took. */
function hearth(args, json = true) {
  const began = process.hrtime.bigint()
  const r = spawnSync(process.execPath, [HEARTH, ...args, ...(json ? ['--json'] : [])], { encoding: 'utf8', maxBuffer: 1 << 28 })
  const seconds = Number(process.hrtime.bigint() - began) / 1e9
  if (r.status !== 0) throw new Error(`hearth ${args.join(' ')} ended with ${r.status ?? r.signal}:\n${r.stderr.slice(-2000)}`)
  return { seconds, report: json ? JSON.parse(r.stdout) : r.stdout }
}

const bytesOf = (dir) =>
  fs.readdirSync(dir, { withFileTypes: true }).reduce((sum, entry) => {
    const at = path.join(dir, entry.name)
    return sum + (entry.isDirectory() ? bytesOf(at) : fs.statSync(at).blocks * 512)
  }, 0)

/** The chain; made once a machine. */
export const homeChain = () => generatedChain(process.argv.includes('--quick') ? QUICK_CHAIN : CHAIN)

/** Prints the table. */
export async function homeBench() {
  const chain = await homeChain()
  const { blocks } = chain
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-bench-home-'))
  const home = path.join(dir, 'home')
  const files = ['--genesis', path.join(chain.dir, 'genesis.json'), path.join(chain.dir, 'chain.rlp')]
  const rows = []
  const add = (what, seconds, note) => {
    rows.push([what, seconds.toFixed(1), note])
    console.log(`${what}: ${seconds.toFixed(1)} s, ${note}`)
  }
  const same = (head, height = blocks, root = chain.root) => {
    if (head.height !== height || (root !== null && head.commitment !== root))
      throw new Error(`another head than the generator's: ${JSON.stringify(head)}`)
  }
  const sound = (of = home) => {
    const { seconds, report } = hearth(['db', 'verify', '--home', of])
    if (report.found !== 0) throw new Error(`db verify found ${JSON.stringify(report.findings)}`)
    return { seconds, report }
  }
  try {
    const imported = hearth(['import', '--home', home, ...files], false)
    same(hearth(['db', 'info', '--home', home]).report.head)
    const rate = `${(blocks / imported.seconds).toFixed(0)} blocks/s with every root, ${(bytesOf(home) / 2 ** 20).toFixed(0)} MiB`
    add(`import of ${blocks} blocks`, imported.seconds, rate)
    const verified = sound()
    add('db verify', verified.seconds, `${verified.report.rows.changes} heights, sound`)
    const middle = blocks / 2
    const back = hearth(['db', 'rollback', '--home', home, '--to', String(middle)])
    add(`db rollback over ${blocks - middle} blocks`, back.seconds, `head ${back.report.head.height}`)
    same(back.report.head, middle, null)
    add('db verify after it', sound().seconds, 'sound')
    const again = hearth(['import', '--home', home, ...files], false)
    same(hearth(['db', 'info', '--home', home]).report.head)
    add(`import of the ${blocks - middle} blocks again`, again.seconds, 'the same root')
    const backup = hearth(['backup', '--home', home, '--to', path.join(dir, 'backups')])
    same(backup.report.head)
    add('backup', backup.seconds, `${backup.report.copied.files} files copied, ${backup.report.linked.files} linked`)
    const second = hearth(['backup', '--home', home, '--to', path.join(dir, 'backups')])
    add('backup again', second.seconds, `${second.report.copied.files} files copied, ${second.report.linked.files} linked`)
    same(sound(backup.report.dir).report.head)
    const stream = path.join(dir, 'stream')
    const exported = hearth(['db', 'export', '--home', home, '--height', String(middle), stream])
    add(`db export of height ${middle}`, exported.seconds, `${(fs.statSync(stream).size / 2 ** 20).toFixed(0)} MiB`)
    const other = hearth(['db', 'import', stream, '--home', path.join(dir, 'other')])
    same(other.report.head, middle, back.report.head.commitment)
    add(`db import of height ${middle}`, other.seconds, 'the same root')
    table('flatkv', ['command', 'seconds', 'what'], rows, `a home of ${blocks} blocks of ${chain.transactions / blocks} transactions`)
  } finally {
    fs.rmSync(dir, { recursive: true, force: true })
  }
}
