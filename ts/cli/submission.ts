// What a node reports about the handling of sent transactions: at its start, in its log and to
// `hearth status`.
import type { Settings } from '../config/index.ts'
import type { Mode } from '../core/config.ts'
import { submissionOf } from '../node/node-config.ts'
import { shownUrl } from '../peers/post.ts'

/** What a node without a development chain does. */
export const NO_BLOCKS = 'this node makes no blocks: new ones come from `hearth import`'

/** What a node does that a consensus client drives. */
export const ENGINE_BLOCKS = 'a consensus client drives this node: blocks come over the Engine API'

/** What a node does under CometBFT. */
export const CONSENSUS_BLOCKS = 'blocks come from the validators of this network, by CometBFT'

/** What `hearth follow` does. */
export const FOLLOWED_BLOCKS = 'this node holds no state: blocks, and what proves them, come from the node that it follows'

/** Where the blocks of a node that makes none by itself come from. */
export function blocksText(settings: Settings): string {
  if (settings['consensus.enabled']) return CONSENSUS_BLOCKS
  return settings['engine.enabled'] ? ENGINE_BLOCKS : NO_BLOCKS
}

/** What becomes of transactions, in a few words; never shows what may be secret in a URL. */
export function transactionsText(mode: Mode, settings: Settings): string {
  const submission = submissionOf(mode === 'dev', settings)
  if (submission === 'refused') return 'refused (evm.forward_url names no node to forward them to)'
  if (submission !== 'pool') return `forwarded to ${shownUrl(settings['evm.forward_url'])}`
  if (settings['consensus.enabled'] && mode === 'start') return 'put into the pool, and passed on to the validators'
  if (settings['engine.enabled'] && mode === 'start') return 'kept in the pool for payloads that the consensus client requests'
  return mode === 'dev' ? 'put into blocks' : 'kept in the pool for testing_buildBlockV1, and sent to no other node'
}
