// The list of commands: what `hearth --help` prints about each, in its order. It is apart from the
// commands, because it is printed without loading them.

/** What each command does, in one line. */
export const COMMAND_DOCS = {
  init: 'Make a data directory: its settings file, and with --genesis the first block of a chain.',
  start: 'Serve the chain in a data directory over JSON-RPC. The node makes no blocks.',
  dev: 'Run a development chain with funded accounts: a new one, or a fork of another chain.',
  follow: 'Follow another node of any kind: serve traces, logs and receipts of its chain without its state.',
  status: 'Describe the running node of a data directory: height, readiness, consensus, baking, sizes, memory.',
  testnet: 'Make data directories for a network of validators on this machine.',
  import: 'Execute and verify block files (RLP, as `geth export` writes them), or one recorded block.',
  export: 'Write the canonical chain as RLP blocks, as `geth export` does.',
  replay: 'Trace transactions in files: tracer tests of go-ethereum, or recorded blocks. Needs no data directory.',
  trace: 'Print the calls of a transaction or block as a tree; the origin of a failure comes first.',
  compare: 'Print what differs in the calls of two transactions.',
  simulate: 'Simulate blocks of calls (eth_simulateV1) and print the tree of each call.',
  bake: 'Compute and store the traces of existing blocks. If a node runs on the data directory, it does the work.',
  db: 'Inspect, verify, repair and copy the stores of a data directory: a family of commands.',
  backup: 'Copy the data directory into a new folder, also while a node runs on it.',
  config: 'Check, print or compare the settings, or rewrite the settings file.',
} as const
