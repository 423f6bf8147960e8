// The page docs/benchmarks.md: a section a bench, with the machine that it ran on.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { ROOT } from '../../native/setup/env.mjs'
import { printed } from './stats.mjs'

const WHAT = {
  bake: 'Traces of past blocks from their capsules, beside execution from history and go-ethereum; answers from the trace cache beside a bare node:http server that sends the same bytes; commits with baking on and off in turn.',
  flatkv:
    'The state store beside bare RocksDB with the same families, options and build, log off on both sides, flushes and compactions inside the time; reads beside bare Gets, history beside itself. Blocks are 1,024 token transfers over a million accounts. Commands on a home are those of an operator, on a generated chain whose roots are all verified.',
  import:
    'Whole commands, process start to process end, on fresh homes. Our command executes, verifies every root and commits each block to disk.',
  littable:
    'The segment store beside write(2) and fdatasync(2), RocksDB and BlobDB, a sync every 32 MiB on every side; reads beside pread(2).',
  logs: 'Requests over HTTP on two chains that a seeded generator writes through the ledger; each question has 100 logs in 100 blocks as its answer, and each of a row asks for others. Cold: fresh nodes, pages of the files dropped before each question.',
  metrics:
    'What metrics cost. Recordings and pages are in processor time of the process, so that other programs do not count; requests a second are of three nodes in turn, one with metrics and two without, so that the last row is what two equal nodes differ by.',
  trace:
    'Requests over HTTP on one generated chain that both sides imported, warm; the answers were compared first where the last column says so. Milliseconds: less is better.',
}

const PAGE = path.join(ROOT, 'docs/benchmarks.md')

const HEAD = [
  '# Benchmarks',
  '',
  'Written by `npm run bench -- NAME… --write`, which puts new sections in the place of old ones: medians with lowest and highest, both sides',
  'in turn within one run. Figures of other machines differ; ratios less so.',
]

/** Sections that the page has, by name. */
function sections() {
  const text = fs.existsSync(PAGE) ? fs.readFileSync(PAGE, 'utf8') : ''
  return new Map([...text.matchAll(/^## (.+)\n([\s\S]*?)(?=^## |$(?![\s\S]))/gm)].map(([all, name]) => [name, all.trimEnd()]))
}

/** The section of a bench that ran just now. */
function section(name) {
  const cpu = os.cpus()[0]?.model ?? 'unknown processor'
  const machine = `Ran on ${os.availableParallelism()} cores of ${cpu}, ${Math.round(os.totalmem() / 2 ** 30)} GiB, Node ${process.version}.`
  const lines = [`## ${name}`, '', WHAT[name], machine]
  for (const { heading, rows, title } of printed.filter((t) => t.name === name)) {
    const cells = (row) => `| ${row.map((cell) => String(cell).replaceAll('|', '\\|')).join(' | ')} |`
    lines.push(
      '',
      ...(title === undefined ? [] : [`### ${title}`, '']),
      cells(heading),
      cells(heading.map(() => '---')),
      ...rows.map(cells),
    )
  }
  return lines.join('\n')
}

/** Puts every table printed in this run on the page; sections of benches that did not run stay. */
export function writePage() {
  const all = sections()
  for (const { name } of printed) all.set(name, section(name))
  const known = Object.keys(WHAT).filter((name) => all.has(name))
  fs.writeFileSync(PAGE, `${[HEAD.join('\n'), ...known.map((name) => all.get(name))].join('\n\n')}\n`)
}
