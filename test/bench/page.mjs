// The page docs/benchmarks.md: a section a bench, with the machine that it ran on.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { ROOT } from '../../native/setup/env.mjs'
import { CAUSES } from './causes.mjs'
import { printed } from './stats.mjs'
import { summary } from './summary.mjs'

const WHAT = {
  bake: 'Traces of past blocks from their capsules, beside execution from history and go-ethereum; answers from the trace cache beside a bare node:http server that sends the same bytes; commits with baking on and off in turn.',
  cosmos:
    'Hearth under CometBFT 0.38.26. REST beside JSON-RPC of one node, eth_sendRawTransaction through a follower beside the same call to the validator that owns the sender, one after the other; blocks of 1,000 transfers signed as the Cosmos SDK has them beside 1,000 transfers of Ethereum, from as many accounts. The sides take turns.',
  dev: 'Development chains of both sides, each in a process of its own, the sides in turn. Transfers are signed beforehand and sent over one connection; the time ends when the chain has all of them. A start is from the spawn to the first answer, polled every two milliseconds. Memory is resident memory of the process.',
  engine:
    'The Engine API, one client over one connection, both sides on fresh homes of one generated chain: its blocks as payloads of 300 to 1,400 transactions, nine rounds of each side in turn, the disk synced before each. The first 16 payloads warm the processes up and are not counted.',
  explorer:
    'The explorer in Chromium on transactions of a development chain: a million steps, 10,001 calls; each round has a transaction of its own. Lists are scrolled with the wheel for ten seconds. Steps in pieces beside noopTracer, which is the execution alone; the start of a chain beside one without the explorer, to its first answer.',
  flatkv:
    'The state store beside bare RocksDB with the same families, options and build, log off on both sides, flushes and compactions inside the time; reads beside bare Gets, history beside itself. Blocks are 1,024 token transfers over a million accounts; the open loop commits 20,000 of them at 70 % of what the store can do, due or not. Commands on a home are those of an operator, on a generated chain whose roots are all verified.',
  follow:
    'Recorded blocks of mainnet whose recordings have trie nodes, from the text of a witness to capsule and state root, beside the execution alone on a state in memory, the sides in turn; senders are recovered outside the time on both. Witnesses are nodes and codes, in bytes and not as text. Generated blocks by their witnesses beside an import of them with a state, in one process and in turn; both sides recover senders, execute, check every field and root, and store blocks, receipts and capsules. Followers as processes: catching up with a node of Hearth whose head is the last block, each process on a processor of its own, and both on all; the time from a head to its trace begins when the upstream has the head. Traces are of each block three times on both sides in turn, over one connection, warm; those from memory are answered by the hot cache of the trace cache (`evm.trace_cache_hot_bytes`), as nodes have it by default.',
  import:
    'Whole commands, process start to process end, on fresh homes. Our command executes, verifies every root and commits each block to disk.',
  js: 'JavaScript tracers over HTTP, millions of steps a second of one loop under each script (more is better), and a block of a generated chain in milliseconds (less is better); the answers were compared first. Hostile scripts: 200 requests at once that end at their limits, from another client than the honest ones.',
  littable:
    'The segment store beside write(2) and fdatasync(2), RocksDB and BlobDB, a sync every 32 MiB on every side; reads beside pread(2).',
  logs: 'Requests over HTTP on two chains that a seeded generator writes through the ledger; the answer to each request has 100 logs in 100 blocks, and each request of a row is for other logs. Cold: fresh nodes, pages of the files dropped before each request.',
  metrics:
    'What metrics cost. Recordings and pages are in processor time of the process, so that other programs do not count; requests a second are of three nodes in turn, one with metrics and two without, so that the last row is what two equal nodes differ by.',
  network:
    "Networks under CometBFT on one machine: Hearth beside CometBFT's own kvstore as the application, over the same kind of socket with transactions of equal bytes, in one run.",
  overload:
    'Cheap calls beside traces: eth_blockNumber from a process of its own at a fixed rate, each counted from when it was due, ten pairs of idle and loaded; the load is eight callers, each with an address of its own, one request after the other. Deadlines are met where they are missed by at most 5 % or 25 ms; while the hypervisor runs others on the processors of this machine, nothing here runs, and no timer fires.',
  rpc: 'Requests over HTTP on one generated chain that both sides imported, from one client process over eight connections, five rounds of each side in turn; the answers were compared first where the last column says so. The last row is of a development chain of each, one after the other.',
  script:
    'A node opened in the process of a script, beside a node of its own that serves the same home over HTTP to the same process, in turn, each round on a fresh one; requests sixteen at once. The callback is one function, in this process and in a sandbox of the same node.',
  soak: `Ten minutes (\`npm run test:soak -- --write\`) of the load of the overload bench, hostile scripts included, in tenths: resident memory of the node, its median; open files, threads and child processes, the most; eth_blockNumber beside it.`,
  setup:
    'Until the first answer of `npm start` in clones of the same commit, fetching included: with every cache empty (of Hearth, cargo and npm), then with those of the first row.',
  start:
    'Programs from their spawn: to their end for commands that print, beside an empty program of the same Node; to the first answer for a development chain, beside the smallest node:http server; the sides in turn. The first trace under a script is of a chain that has been idle for two seconds.',
  trace:
    'Requests over HTTP on one generated chain that both sides imported, warm; the answers were compared first where the last column says so. Milliseconds: less is better.',
  'trace-parity':
    'Requests over HTTP, warm, in interleaved pairs. Beside tracers of debug_* on the same node the ratio is how many times as long Hearth takes; beside geth it is how many times as fast Hearth is. Searches run on a development chain of a million blocks, most of them empty; imports are whole commands on fresh homes.',
}

const PAGE = path.join(ROOT, 'docs/benchmarks.md')
const README = path.join(ROOT, 'README.md')

/** Columns of a line of prose; test/prose checks it. Items of a list have two before them. */
const COLUMNS_MAX = 100
const ITEM_COLUMNS_MAX = COLUMNS_MAX - 2

/** A text broken between words; code spans stay whole. */
function wrapped(text, columns = COLUMNS_MAX) {
  const lines = []
  for (const piece of text.match(/(?:`[^`]*`|\S)+/g) ?? []) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + 1 + piece.length <= columns) lines[lines.length - 1] = `${last} ${piece}`
    else lines.push(piece)
  }
  return lines.join('\n')
}

const HEAD = [
  '# Benchmarks',
  wrapped(
    'Medians of runs in which both sides took turns. The ratio is above 1 where Hearth is faster, in rows of milliseconds as in rows of work per second; the sections below have the lowest and highest values, the machine, and how each record was measured. Figures of other machines differ; ratios differ less.',
  ),
]

const README_HEADING = '## Speed'
const README_HEAD =
  'Medians of runs in which both sides took turns; the ratio is above 1 where Hearth is faster. [The page of benchmarks](docs/benchmarks.md) has all rows, their ranges, and for each section the machine, which is not the same one for all.'

const FOOT = '`npm run bench -- NAME… --write` measures, replaces the sections of the benches that ran, and writes this table from them.'

const CAUSES_TITLE = 'Rows that lose, and why'

/**
 * Sections of the text of a page, by name.
 *
 * @param {string} text the page
 * @returns {Map<string, string>}
 */
export function sections(text) {
  return new Map([...text.matchAll(/^## (.+)\n([\s\S]*?)(?=^## |$(?![\s\S]))/gm)].map(([all, name]) => [name, all.trimEnd()]))
}

/** The tables of a section, by their titles; the one without has the empty title. */
const tables = (text) => new Map(text.split(/^### /m).map((part, i) => (i === 0 ? ['', part] : [part.split('\n', 1)[0], part])))

/**
 * A table as the page has it.
 *
 * @param {{ heading: unknown[], rows: unknown[][], title?: string }} table
 */
function tableText({ heading, rows, title }) {
  const cells = (row) => `| ${row.map((cell) => String(cell).replaceAll('|', '\\|')).join(' | ')} |`
  const lines = [cells(heading), cells(heading.map(() => '---')), ...rows.map(cells)]
  return [...(title === undefined ? [] : [`### ${title}`, '']), ...lines].join('\n')
}

/** This machine, as sections name it. */
function machineHere() {
  const cpu = os.cpus()[0]?.model ?? 'unknown processor'
  return `Ran on ${os.availableParallelism()} cores of ${cpu}, ${Math.round(os.totalmem() / 2 ** 30)} GiB, Node ${process.version}.`
}

/** The machine that the introduction of a section names, on one line. */
const machineOf = (text) => /Ran on [^|]*?Node v[\d.]+\./.exec(text.split('\n### ', 1)[0] ?? '')?.[0].replace(/\s+/g, ' ')

/** What the table without a title begins with where it is of another machine than the section. */
const FIRST_RAN_ON = 'The first table ran on '

/**
 * The section of a bench that has just run; tables of `old` that were not printed stay where they
 * are, and name their machine where it was another one.
 *
 * @param {string} name the section's name
 * @param {string} old its text so far
 * @param {readonly { heading: unknown[], rows: unknown[][], title?: string }[]} tablesOfRun
 * @param {string} machine the machine of the run
 */
export function section(name, old, tablesOfRun, machine) {
  const [before, machineBefore] = [tables(old), machineOf(old)]
  const isOther = machineBefore !== undefined && machineBefore !== machine
  const texts = new Map()
  const untitled = before.get('')?.match(new RegExp(`^(${FIRST_RAN_ON}|\\|)[\\s\\S]*`, 'm'))?.[0]
  if (untitled !== undefined) {
    const names = !isOther || untitled.startsWith(FIRST_RAN_ON)
    texts.set('', `${names ? '' : `${machineBefore.replace('Ran on ', FIRST_RAN_ON)}\n\n`}${untitled.trimEnd()}`)
  }
  for (const [title, text] of before) {
    if (!title || title === CAUSES_TITLE) continue
    const names = !isOther || text.includes('\nRan on ')
    texts.set(title, `### ${title}${names ? '' : `\n\n${machineBefore}`}${text.slice(title.length).trimEnd()}`)
  }
  for (const table of tablesOfRun) texts.set(table.title ?? '', tableText(table))
  return [`## ${name}`, wrapped(`${WHAT[name]} ${machine}`), ...texts.values()].join('\n\n')
}

/**
 * Puts every table printed in this run on the page, and the table of records into README.md; what
 * did not run stays.
 */
export function writePage() {
  const all = sections(fs.existsSync(PAGE) ? fs.readFileSync(PAGE, 'utf8') : '')
  for (const name of new Set(printed.map((t) => t.name))) {
    const tablesOfRun = printed.filter((table) => table.name === name)
    all.set(name, section(name, all.get(name) ?? '', tablesOfRun, machineHere()))
  }
  fs.writeFileSync(PAGE, pageOf(all))
  fs.writeFileSync(README, readmeOf(fs.readFileSync(README, 'utf8'), all))
}

/**
 * The text of README.md with the table of records as its section "Speed".
 *
 * @param {string} text the text so far, which has that section
 * @param {Map<string, string>} all the sections of the page by name
 */
export function readmeOf(text, all) {
  const speed = [README_HEADING, wrapped(README_HEAD), summary(all).join('\n')].join('\n\n')
  return text.replace(/^## Speed\n[\s\S]*?(?=\n+## |\n*$(?![\s\S]))/m, () => speed)
}

/** The page: its table, then the sections in their order. */
export function pageOf(all) {
  const known = Object.keys(WHAT).filter((name) => all.has(name))
  const head = [...HEAD, summary(all).join('\n'), wrapped(FOOT)]
  return `${[...head, ...known.map((name) => withCauses(name, all.get(name)))].join('\n\n')}\n`
}

/** What marks a row that loses. */
const LOSES = /LOSING|LOST|MISSED|NOT reached|below the target/

/**
 * Rows of a section that lose: the title of the table and the first two cells, between bars.
 *
 * @param {string} text the section
 * @returns {string[]}
 */
export function losingRows(text) {
  const rows = []
  for (const [title, table] of tables(text)) {
    for (const line of table.split('\n')) {
      const [first, second] = line.slice(2).split(' | ')
      if (line.startsWith('| ') && LOSES.test(line)) rows.push([title, first, second].join(' | '))
    }
  }
  return rows
}

/**
 * A section that ends with the causes of the rows that lose.
 *
 * @param {string} name the section's name
 * @param {string} text the section, with causes from before or without
 */
function withCauses(name, text) {
  const [measured] = text.split(`\n\n### ${CAUSES_TITLE}`)
  const rows = losingRows(measured)
  const causes = CAUSES.filter((cause) => cause.in === name && rows.some((row) => cause.rows.test(row)))
  if (causes.length === 0) return measured
  const item = ({ name, why }) => wrapped(`- ${name}: ${why}`, ITEM_COLUMNS_MAX).replaceAll('\n', '\n  ')
  return [measured, `### ${CAUSES_TITLE}`, causes.map(item).join('\n')].join('\n\n')
}
