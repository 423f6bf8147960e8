// hearth trace: the calls of a transaction or of a block as a tree, the failure first; gas as
// flames.
import type { Command } from '../command.ts'
import { HOME_FLAG } from '../home.ts'

/** Exit code of `--check` where a transaction failed. */
export const SOME_FAILED = 3

/** Longest lines where the output is not cut otherwise, in characters. */
export const WIDTH = 160

export const trace: Command = {
  name: 'trace',
  doc: 'Print the calls of a transaction or block as a tree; the origin of a failure comes first.',
  more: [
    'TX is a hash; BLOCK a height, a hash or a tag. The node that runs on the data directory answers;',
    'without one, the data directory is opened for reading. Any node with callTracer serves --rpc;',
    '--steps, --gas=opcode and --gas=line need a Hearth node.',
    '--labels FILE: JSON, {"0xADDRESS": "name"}. --signatures FILE: one Solidity signature a line.',
  ],
  flags: {
    ...HOME_FLAG,
    rpc: { value: 'URL', doc: 'Node to use instead of a data directory.' },
    gas: { choices: ['opcode', 'line'], doc: 'Gas by contract and function; --gas=opcode: by opcode; --gas=line: by line of Solidity.' },
    steps: { value: 'A..B', doc: 'Steps A to before B of a transaction; A.., ..B or A alone.' },
    'state-diff': { doc: 'Changes of balances, nonces, code and storage.' },
    compare: { value: 'TX', doc: 'What differs in the calls of this transaction and of TX.' },
    set: { value: 'FIELD=VALUE', many: true, doc: 'What differs after a change: from, to, data, value, gas, state=JSON, block=JSON.' },
    json: { doc: 'The trees as JSON, frames with the ids that the text has.' },
    flame: { value: 'FILE', doc: 'Write a flame graph of gas as SVG.' },
    speedscope: { value: 'FILE', doc: 'Write a profile of gas for speedscope.' },
    folded: { value: 'FILE', doc: 'Write collapsed stacks of gas.' },
    labels: { value: 'FILE', doc: 'Names of addresses.' },
    signatures: { value: 'FILE', doc: 'Signatures of functions, errors and events.' },
    artifacts: { value: 'DIR', many: true, doc: 'Artifacts of Foundry or Hardhat, or a project: names, errors, lines.' },
    depth: { value: 'N', doc: 'Leave out deeper frames.' },
    width: { value: 'N', doc: `Longest line, in characters. Default: ${WIDTH}.` },
    raw: { doc: 'Shorten nothing: whole lines, bytes and texts, still escaped.' },
    check: { doc: `Exit with ${SOME_FAILED} where a transaction failed.` },
  },
  files: { name: 'TX|BLOCK', min: 1, max: 1 },
  run: async (parsed, terminal) => {
    // What decodes arguments is loaded by this command alone.
    const { runTrace } = await import('../trace/run.ts')
    return runTrace(parsed, terminal)
  },
}
