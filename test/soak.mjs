// `npm run test:soak [-- --write]`: a node under the load of the overload bench, including hostile
// scripts, for ten minutes (HEARTH_SOAK_MINUTES, 1 at least); `--write` puts its table into
// docs/benchmarks.md. Memory in the last tenth must be at most 1.1 times that of the third; the
// numbers of files, threads and processes must not grow.
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import { openOverload, percentile } from './bench/overload/node.mjs'
import { writePage } from './bench/page.mjs'
import { memoryMiB } from './bench/process.mjs'
import { median, table } from './bench/stats.mjs'

const MINUTES = Math.max(1, Number(process.env.HEARTH_SOAK_MINUTES ?? 10))

/** Time between two looks, in milliseconds. */
const LOOK_MS = 1000

/** Tenths of the time that are compared. */
const [THIRD, LAST] = [2, 9]

/** What memory may grow to. */
const MEMORY_TIMES = 1.1

/**
 * The allowed difference between the peaks of open files, threads and processes in two tenths:
 * connections and workers come and go.
 */
const MORE = { files: 8, threads: 4, processes: 1 }

const countOf = (folder) => {
  try {
    return fs.readdirSync(folder).length
  } catch {
    return Number.NaN
  }
}

/** Child processes of a process. */
function childrenOf(pid) {
  const found = spawnSync('ps', ['--ppid', String(pid), '-o', 'pid='], { encoding: 'utf8' })
  return (found.stdout ?? '').split('\n').filter((line) => line.trim() !== '').length
}

const look = (pid) => ({
  memory: memoryMiB(pid, 'VmRSS') ?? Number.NaN,
  files: countOf(`/proc/${pid}/fd`),
  threads: countOf(`/proc/${pid}/task`),
  processes: childrenOf(pid),
})

const overload = await openOverload()
const { node, pulse, callers, work } = overload
const looks = []
const cheap = []
let failed = 0
let totals
try {
  callers.send(work(true))
  const tenth = MINUTES * 6000
  for (let i = 0; i < 10; i++) {
    const asked = pulse.ask({ ms: tenth })
    /** @type {ReturnType<typeof look>[]} */
    const of = []
    for (const until = Date.now() + tenth; Date.now() < until; await new Promise((resolve) => setTimeout(resolve, LOOK_MS)))
      of.push(look(node.pid))
    const { took, failed: lost } = await asked
    looks.push(of)
    cheap.push(took)
    failed += lost.length
    const { memory, files, threads, processes } = of.at(-1) ?? look(node.pid)
    console.error(
      `${i + 1} of 10: ${memory.toFixed(0)} MiB, ${files} files, ${threads} threads, ${processes} processes, ${lost.length} cheap calls failed`,
    )
  }
  totals = await callers.ask('stop')
} finally {
  await overload.stop()
}

const rows = looks.map((of, i) => [
  `${i + 1}`,
  median(of.map(({ memory }) => memory)).toFixed(0),
  ...['files', 'threads', 'processes'].map((what) => Math.max(...of.map((one) => one[what]))),
  percentile(cheap[i], 99).toFixed(1),
])
table('soak', ['tenth', 'memory (MiB)', 'files', 'threads', 'processes', 'p99 of eth_blockNumber (ms)'], rows)

const problems = []
const [third, last] = [THIRD, LAST].map((i) => median(looks[i].map(({ memory }) => memory)))
if (!(last <= third * MEMORY_TIMES)) problems.push(`memory grew from ${third.toFixed(0)} to ${last.toFixed(0)} MiB`)
for (const [what, more] of Object.entries(MORE)) {
  const [before, after] = [THIRD, LAST].map((i) => Math.max(...looks[i].map((one) => one[what])))
  if (!(after <= before + more)) problems.push(`${what} grew from ${before} to ${after}`)
}
if (failed > 0) problems.push(`${failed} cheap calls were refused or failed`)
const errors = Object.entries(totals.errors).map(([error, count]) => `${count} ${error}`)
console.log(`${totals.asked} traces in ${MINUTES} minutes; errors: ${errors.join('; ') || 'none'}`)
for (const problem of problems) console.log(`soak: ${problem}`)
if (problems.length === 0 && process.argv.includes('--write')) writePage()
console.log(problems.length === 0 ? 'soak: passed' : 'soak: failed')
process.exit(problems.length === 0 ? 0 : 1)
