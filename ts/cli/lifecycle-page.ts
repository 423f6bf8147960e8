// The page docs/lifecycle.md: the states of a node, of a block and of a transaction, and what moves them on.

/** One state of a thing. */
interface State {
  readonly name: string
  readonly meaning: string
  /** How it is left: the event and the state after it. */
  readonly leaves: readonly (readonly [event: string, to: string])[]
}

/** States of things by what they are of; the first one is where a thing begins. */
export const LIFECYCLES: Readonly<Record<string, readonly State[]>> = {
  node: [
    {
      name: 'opening',
      meaning: 'The home is locked, the settings are checked and the stores are opened. No port is open.',
      leaves: [
        ['the write-ahead log is ahead of the state', 'replaying'],
        ['the stores agree', 'ready'],
        ['a store does not open: the process ends with the reason', 'closed'],
      ],
    },
    {
      name: 'replaying',
      meaning: 'Records of the write-ahead log after the last flushed version are applied again. No port is open.',
      leaves: [
        ['the last good record is applied', 'ready'],
        ['a record does not apply: the process ends with the reason', 'closed'],
      ],
    },
    {
      name: 'ready',
      meaning: 'Requests are answered on every port; a dev chain makes blocks.',
      leaves: [
        ['SIGINT or SIGTERM', 'draining'],
        ['a write to a store fails', 'read-only'],
      ],
    },
    {
      name: 'read-only',
      meaning:
        'Requests that read are answered. What writes is refused, since nobody knows what the disk did with the bytes; opening the home again finds out.',
      leaves: [['SIGINT or SIGTERM', 'draining']],
    },
    {
      name: 'draining',
      meaning:
        'No connection is taken any more; answers under way may finish for five seconds, then they are cut off and the work behind them stops.',
      leaves: [['the last answer is out, or the time is over: the stores are flushed', 'closed']],
    },
    { name: 'closed', meaning: 'The home is free for another process.', leaves: [] },
  ],
  block: [
    {
      name: 'received',
      meaning: 'Its bytes decode and the senders of its transactions are recovered.',
      leaves: [
        ['its header and body obey the rules and its parent is known', 'executing'],
        ['it breaks a rule', 'refused'],
        ['its parent is not known', 'unknown'],
      ],
    },
    {
      name: 'executing',
      meaning: 'It is executed on the state of its parent, on any branch.',
      leaves: [
        ['state root, receipts root, logs bloom and gas are those of its header', 'stored'],
        ['one of them differs: the report names it', 'refused'],
      ],
    },
    {
      name: 'stored',
      meaning: 'Rows of the ledger and one record of the write-ahead log have it; it is valid for good.',
      leaves: [
        ['fork choice takes it or a descendant', 'canonical'],
        ['fork choice keeps another branch', 'side'],
      ],
    },
    {
      name: 'canonical',
      meaning: 'It is the head or an ancestor of the head: numbers, transaction hashes and logs lead to it.',
      leaves: [['the head moves to another branch: its changes are unwound', 'side']],
    },
    {
      name: 'side',
      meaning: 'It is found by its hash alone; its transactions have no receipts by hash.',
      leaves: [['the head moves to it or to a descendant: it is executed again', 'canonical']],
    },
    {
      name: 'refused',
      meaning: 'Nothing of it is in the stores. The last ten are kept for debug_getBadBlocks and debug_traceBadBlock.',
      leaves: [],
    },
    {
      name: 'unknown',
      meaning: 'Nothing of it is kept; it may be given again after its parent.',
      leaves: [['it is given again', 'received']],
    },
  ],
  transaction: [
    {
      name: 'received',
      meaning: 'It decodes and its signature gives a sender.',
      leaves: [
        ['it may pay and its nonce is the next one', 'pending'],
        ['it may pay and nonces before it are missing', 'queued'],
        ['the pool does not take it: the error says why', 'rejected'],
      ],
    },
    {
      name: 'queued',
      meaning: 'It waits in the pool for transactions of its sender with lower nonces.',
      leaves: [
        ['the gap before it closes', 'pending'],
        ['another one of its nonce pays enough more', 'replaced'],
        ['the pool is full, or its sender can no longer pay', 'dropped'],
      ],
    },
    {
      name: 'pending',
      meaning: 'It can be in the next block. It counts for eth_getTransactionCount at `pending`.',
      leaves: [
        ['a block with it becomes canonical', 'included'],
        ['another one of its nonce pays enough more', 'replaced'],
        ['the pool is full, or its sender can no longer pay', 'dropped'],
      ],
    },
    {
      name: 'included',
      meaning: 'It has a receipt: status 1, or 0 where it failed; both are final for its block, and both can be traced.',
      leaves: [['its block leaves the canonical chain', 'unincluded']],
    },
    {
      name: 'unincluded',
      meaning: 'Its block is on a side branch: it is found by hash no more, though its block has it.',
      leaves: [
        ['a block with it becomes canonical', 'included'],
        ['it is sent again', 'received'],
      ],
    },
    { name: 'replaced', meaning: 'The pool has another transaction in its place.', leaves: [] },
    { name: 'dropped', meaning: 'The pool forgot it; it may be sent again.', leaves: [['it is sent again', 'received']] },
    { name: 'rejected', meaning: 'Nothing of it is kept; it may be sent again.', leaves: [['it is sent again', 'received']] },
  ],
}

/** The page docs/lifecycle.md. */
export function lifecyclePage(): string {
  const lines = [
    '# Lifecycles',
    '',
    'Generated from `ts/cli/lifecycle-page.ts` by `npm run docs`. A thing begins in the first state of its table.',
  ]
  for (const [thing, states] of Object.entries(LIFECYCLES)) {
    lines.push('', `## Of a ${thing}`, '', '| state | meaning | left when | to |', '|---|---|---|---|')
    for (const { name, meaning, leaves } of states) {
      const [first, ...others] = leaves
      lines.push(`| **${name}** | ${meaning} | ${first?.[0] ?? 'never'} | ${first?.[1] ?? ''} |`)
      for (const [event, to] of others) lines.push(`| | | ${event} | ${to} |`)
    }
  }
  return `${lines.join('\n')}\n`
}
