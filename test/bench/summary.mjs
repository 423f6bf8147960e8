// The table that docs/benchmarks.md starts with: one row a record, taken from the sections below
// it.

/**
 * Records in the order of the table: section, name in the table, first cell of the row in the
 * section, the columns of Hearth, of the peer and of their ratio, the peer's name, and why Hearth
 * is slower, for the rows where it is.
 */
export const RECORDS = [
  {
    in: 'trace',
    name: 'callTracer, block of 1,400 transactions (ms)',
    row: 'traceBlock callTracer, 1400 transactions, 54 Mgas (ms)',
    at: [1, 2, 3],
    peer: 'geth',
  },
  {
    in: 'trace',
    name: 'prestateTracer, the same block (ms)',
    row: 'traceBlock prestateTracer, 1400 transactions, 54 Mgas (ms)',
    at: [1, 2, 3],
    peer: 'geth',
  },
  {
    in: 'trace',
    name: 'struct logs, the same block (ms)',
    row: 'struct logs of a block of 1400 transactions, 54 Mgas (ms)',
    at: [1, 2, 3],
    peer: 'geth',
  },
  {
    in: 'trace',
    name: 'callTracer, last transaction of the block (ms)',
    row: 'traceTransaction callTracer, the last of them (ms)',
    at: [1, 2, 3],
    peer: 'geth',
  },
  {
    in: 'trace',
    name: 'callTracer, first transaction of the block (ms)',
    row: 'traceTransaction callTracer, the first of them (ms)',
    at: [1, 2, 3],
    peer: 'geth',
    why: 'The first transaction of a block has no predecessors to skip: both nodes execute one transaction.',
  },
  {
    in: 'trace',
    name: 'callTracer, mainnet block 17034869 (ms)',
    row: 'traceBlock callTracer, block 17034869, 93 transactions, 8 Mgas (ms)',
    at: [1, 2, 3],
    peer: 'anvil',
  },
  {
    in: 'trace-parity',
    name: 'trace_block of that block of 1,400 transactions (ms)',
    row: "trace_block beside geth's flatCallTracer, 1400 transactions, 54 Mgas (ms)",
    at: [1, 2, 3],
    peer: 'geth',
  },
  { in: 'js', name: 'JavaScript tracer: opcode histogram of a loop (M steps/s)', row: 'opcode histogram', at: [1, 2, 3], peer: 'geth' },
  {
    in: 'js',
    name: 'the same tracer, block of 982 transactions (ms)',
    row: 'histogram of a block, 982 transactions (ms)',
    at: [1, 2, 3],
    peer: 'geth',
  },
  {
    in: 'import',
    name: 'import of 400 blocks, 60,000 transactions (Mgas/s)',
    row: 'generated, 400 blocks, 60000 transactions',
    at: [2, 2, 4],
    peer: 'geth',
    sides: true,
  },
  {
    in: 'engine',
    name: 'engine_newPayloadV4 (Mgas/s)',
    row: 'engine_newPayloadV4, 24 payloads, 965 Mgas (Mgas/s)',
    at: [1, 2, 3],
    peer: 'geth',
  },
  {
    in: 'engine',
    name: 'engine_forkchoiceUpdatedV3 to an executed block, p99 (ms)',
    row: 'engine_forkchoiceUpdatedV3 to an executed block, p99 (ms)',
    at: [1, 2, 3],
    peer: 'geth',
    ratio: 'computed',
  },
  {
    in: 'follow',
    name: 'follower of go-ethereum: callTracer of a block, 200 to 1,400 transactions (ms)',
    row: 'callTracer of a block through a follower, from its capsule; go-ethereum’s own (ms)',
    at: [1, 2, 3],
    peer: 'geth',
  },
  {
    in: 'follow',
    name: 'the same, baked (ms)',
    row: 'the same, baked, from memory (ms)',
    at: [1, 2, 3],
    peer: 'geth',
  },
  { in: 'rpc', name: 'eth_call (requests/s)', row: 'eth_call', at: [1, 3, 5], peer: 'geth' },
  {
    in: 'rpc',
    name: 'eth_getLogs of a token and a sender, all blocks (requests/s)',
    row: 'eth_getLogs of a token and a sender, all blocks',
    at: [1, 3, 5],
    peer: 'geth',
  },
  {
    in: 'rpc',
    name: 'eth_getBalance (requests/s)',
    row: 'eth_getBalance',
    at: [1, 3, 5],
    peer: 'geth',
  },
  {
    in: 'rpc',
    name: 'batch of 100 eth_getBalance (batches/s)',
    row: 'batch of 100 eth_getBalance',
    at: [1, 3, 5],
    peer: 'geth',
  },
  {
    in: 'dev',
    name: 'dev chain: snapshot of 100,000 slots (ms)',
    row: 'snapshot of a state with 100000 slots (ms)',
    at: [1, 2, 3],
    peer: 'anvil',
  },
  {
    in: 'dev',
    name: 'dev chain: start to first answer (ms)',
    row: 'start to first answer (ms)',
    at: [1, 2, 3],
    peer: 'anvil',
    why: 'Node.js starts and loads the program first; anvil is a native binary.',
  },
  {
    in: 'dev',
    name: 'dev chain: revert of 700 changed slots (ms)',
    row: 'revert of 700 changed slots there (ms)',
    at: [1, 2, 3],
    peer: 'anvil',
    why: 'A revert unwinds blocks in the stores on disk; anvil drops a copy in memory.',
  },
  {
    in: 'dev',
    name: 'dev chain: 10,000 transfers in batches of 100 (transfers/s)',
    row: '10000 transfers on 4 nodes, in batches of 100 (transfers/s)',
    at: [1, 2, 3],
    peer: 'anvil',
    why: 'Each block is committed to the stores with its state root; anvil keeps blocks in memory.',
  },
  {
    in: 'flatkv',
    name: 'state store: commit (pairs/s)',
    row: 'commit: everything on (pairs/s)',
    at: [1, 2, 3],
    peer: 'bare RocksDB',
    why: 'History, WAL and commitment are written in addition to the latest rows.',
  },
  {
    in: 'littable',
    name: 'segment store: write of 1 KiB values (MiB/s)',
    row: 'write 1 KiB values beside RocksDB with its log (MiB/s)',
    at: [1, 2, 3],
    peer: 'RocksDB',
  },
  {
    in: 'littable',
    name: 'segment store: warm get of 4 KiB (us)',
    row: 'warm get of 4 KiB beside pread (us)',
    at: [1, 2, 3],
    peer: 'pread(2)',
    ratio: 'computed',
    why: 'A get looks up the key and verifies a checksum; pread(2) does neither.',
  },
]

const rowsOf = (section) =>
  section
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .map((line) => line.slice(2).replace(/ \|$/, '').split(/ \| ?/))

/** The median of a cell: what stands before the range and the verdict. */
const median = (cell = '') => cell.trim().split(/ \(|\s{2}/)[0] ?? ''

/** The ratio at the start of a cell; empty where the cell has none. */
const ratioOf = (cell = '') => /^[\d.]+/.exec(cell.trim())?.[0] ?? ''

/**
 * The table as lines of Markdown; records whose section is not on the page yet are left out.
 *
 * @param {Map<string, string>} sections the sections of the page by name
 * @returns {string[]}
 */
export function summary(sections) {
  const lines = ['| record | Hearth | peer | ratio | where Hearth is slower: why |', '|---|---|---|---|---|']
  for (const { in: section, name, row, at, peer, why = '', ratio = 'row', sides = false } of RECORDS) {
    const found = rowsOf(sections.get(section) ?? '').filter(([first]) => first === row || first?.startsWith(row.replace(/\)$/, ';')))
    if (found.length === 0) continue
    const [ours, theirs, compared] = sides ? found : [found[0], found[0], found[0]]
    const [mine, other] = [median(ours?.[at[0]]), median(theirs?.[at[1]])]
    // Rows that were measured as how much longer Hearth takes.
    const times = ratio === 'row' ? ratioOf(compared?.[at[2]]) : (Number(other) / Number(mine)).toFixed(2)
    const reason = Number(times) < 1 ? why : ''
    lines.push(`| ${[name, mine, `${other}, ${peer}`, times, reason].join(' | ')} |`)
  }
  return lines
}
