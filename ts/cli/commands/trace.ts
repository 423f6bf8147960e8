// hearth trace: the calls of a transaction or of a block as a tree, the failure first; gas as
// flames; calls that are not mined. hearth compare, hearth simulate: trees of two transactions, and
// of simulated blocks.
import type { Flag } from '../args.ts'
import type { Command } from '../command.ts'
import { COMMAND_DOCS } from '../command-docs.ts'
import { HOME_FLAG } from '../home.ts'

/** Exit code of `--check` where a transaction failed. */
export const SOME_FAILED = 3

/** Arguments of one call. */
const ARGUMENTS_MAX = 256

/** Where traces come from, and how they are printed. */
const SHARED: Readonly<Record<string, Flag>> = {
  ...HOME_FLAG,
  rpc: { value: 'URL', doc: 'Node to use instead of a data directory.' },
  labels: { value: 'FILE', doc: 'Names of addresses, as JSON: {"0xADDRESS": "name"}.' },
  signatures: { value: 'FILE', doc: 'Solidity signatures of functions, errors, events; one a line.' },
  width: { value: 'N', doc: 'Longest line, in characters. Default: the width of the terminal.' },
  color: { value: 'WHEN', doc: 'Colours: auto (on a terminal, unless NO_COLOR is set), always or never.' },
  raw: { doc: 'Shorten nothing: print whole lines, bytes and texts, still escaped.' },
  json: { doc: 'The trees as JSON, frames with the ids that the text has.' },
}

const ARTIFACTS: Readonly<Record<string, Flag>> = {
  artifacts: { value: 'DIR', many: true, doc: 'Artifacts of Foundry or Hardhat, or a project: names, errors, lines.' },
}

const DEPTH: Readonly<Record<string, Flag>> = { depth: { value: 'N', doc: 'Leave out deeper frames.' } }

const CHECK: Readonly<Record<string, Flag>> = { check: { doc: `Exit with ${SOME_FAILED} where a transaction failed.` } }

export const trace: Command = {
  name: 'trace',
  doc: COMMAND_DOCS.trace,
  more: ['TX is a hash; BLOCK a height, hash or tag. --steps, --gas=opcode and =line need a Hearth node.'],
  flags: {
    ...SHARED,
    tree: { doc: 'The tree of calls, which is printed where no other view is given.' },
    gas: { choices: ['opcode', 'line'], doc: 'Gas by contract and function, by opcode, or by Solidity line.' },
    steps: { value: 'A..B', doc: 'Steps A to before B of a transaction; A.., ..B or A alone.' },
    'state-diff': { doc: 'Changes of balances, nonces, code and storage.' },
    compare: { value: 'TX', doc: 'Print the differences between the calls of this transaction and of TX.' },
    replay: { doc: 'Run a mined transaction with --set and --override; print what differs.' },
    set: { value: 'FIELD=VALUE', many: true, doc: 'Replay with this from, to, data, value, gas, state=JSON, block=JSON.' },
    override: { value: 'A.FIELD=V', many: true, doc: 'State: A.balance=, A.nonce=, A.code=0x… or @FILE, A.slot[K]=.' },
    'block-override': { value: 'FIELD=V', many: true, doc: 'Block: time, number, baseFeePerGas, gasLimit and others.' },
    call: { doc: "Trace a call that is not mined: --call --to A --sig 'f(uint256)' 5." },
    to: { value: 'ADDRESS', doc: 'What is called; without it code is deployed.' },
    sig: { value: 'SIGNATURE', doc: 'Function that is called; its arguments follow the flags.' },
    data: { value: 'HEX', doc: 'Data of the call, instead of a signature.' },
    from: { value: 'ADDRESS', doc: 'Who calls.' },
    value: { value: 'AMOUNT', doc: 'What is paid: wei, 20gwei, 1ether.' },
    'gas-limit': { value: 'N', doc: 'Gas of the call. Default: what the node allows.' },
    block: { value: 'B[:INDEX]', doc: 'Call after block B (latest), or before its transaction INDEX.' },
    flame: { value: 'FILE', doc: 'Write a flame graph of gas: HTML where FILE ends in .html, else SVG.' },
    speedscope: { value: 'FILE', doc: 'Write a profile of gas for speedscope.' },
    folded: { value: 'FILE', doc: 'Write collapsed stacks of gas.' },
    ...ARTIFACTS,
    ...DEPTH,
    ...CHECK,
  },
  files: { name: 'TX|BLOCK', min: 0, max: ARGUMENTS_MAX },
  run: async (parsed, terminal) => {
    // What decodes arguments is loaded by this command alone.
    const { runTrace } = await import('../trace/run.ts')
    return runTrace(parsed, terminal)
  },
}

export const compare: Command = {
  name: 'compare',
  doc: COMMAND_DOCS.compare,
  flags: { ...SHARED, ...ARTIFACTS },
  files: { name: 'TX', min: 2, max: 2 },
  run: async (parsed, terminal) => {
    const [first = '', second = ''] = parsed.files
    const { runTrace } = await import('../trace/run.ts')
    return runTrace({ ...parsed, files: [first], flags: new Map([...parsed.flags, ['compare', second]]) }, terminal)
  },
}

export const simulate: Command = {
  name: 'simulate',
  doc: COMMAND_DOCS.simulate,
  more: [
    'FILE holds the first parameter of eth_simulateV1 as JSON, or blockStateCalls alone; - is standard',
    'input. The node must have eth_simulateV1 and debug_traceCallMany.',
  ],
  flags: {
    ...SHARED,
    block: { value: 'B', doc: 'Block on which the simulation begins. Default: latest.' },
    ...DEPTH,
    ...CHECK,
  },
  files: { name: 'FILE', min: 1, max: 1 },
  run: async (parsed, terminal) => {
    const { runSimulate } = await import('../trace/simulate.ts')
    return runSimulate(parsed, terminal)
  },
}
