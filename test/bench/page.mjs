// The page docs/benchmarks.md: the tables of one run, with the machine they were measured on.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { ROOT } from '../../native/setup/env.mjs'
import { printed } from './stats.mjs'

const WHAT = {
  import:
    'Whole commands, process start to process end, on fresh homes. Our command executes, verifies every root and commits each block to disk.',
  trace:
    'Requests over HTTP on one generated chain that both sides imported, warm; the answers were compared first where the last column says so. Milliseconds: less is better.',
}

/** Writes the page out of every table printed in this run. */
export function writePage() {
  const cpu = os.cpus()[0]?.model ?? 'unknown processor'
  const memory = Math.round(os.totalmem() / 2 ** 30)
  const lines = [
    '# Benchmarks',
    '',
    `Written by \`npm run bench -- ${[...new Set(printed.map((t) => t.name))].join(' ')} --write\`: medians with lowest and highest, both sides in turn within one run.`,
    `This run: ${os.availableParallelism()} cores of ${cpu}, ${memory} GiB, Node ${process.version}. Figures of other machines differ; ratios less so.`,
  ]
  for (const { name, heading, rows, title } of printed) {
    const cells = (row) => `| ${row.map((cell) => String(cell).replaceAll('|', '\\|')).join(' | ')} |`
    lines.push(
      '',
      ...(title === undefined ? [`## ${name}`, '', WHAT[name]] : [`### ${title}`]),
      '',
      cells(heading),
      cells(heading.map(() => '---')),
      ...rows.map(cells),
    )
  }
  fs.writeFileSync(path.join(ROOT, 'docs/benchmarks.md'), `${lines.join('\n')}\n`)
}
