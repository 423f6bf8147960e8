// The methods of development chains: each under every name that a tool has for it.
import type { Method } from '../../method.ts'
import { devBlocks } from './blocks.ts'
import { devLookups } from './lookups.ts'
import { devNextBlock } from './next-block.ts'
import { devNode } from './node.ts'
import { devSenders } from './senders.ts'
import { devState } from './state.ts'
import { devTime } from './time.ts'

/** All of them. */
export const DEV_METHODS: readonly Method[] = [
  ...devBlocks,
  ...devTime,
  ...devNextBlock,
  ...devState,
  ...devSenders,
  ...devNode,
  ...devLookups,
]
