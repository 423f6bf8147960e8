// hearth follow: blocks, receipts, logs and traces of another node's chain, without its state.
import { CoreError } from '../../core/error.ts'
import { UsageError } from '../args.ts'
import { nodeSettings } from '../check-files.ts'
import type { Command } from '../command.ts'
import { COMMAND_DOCS } from '../command-docs.ts'
import { hasChain, makeFollowerHome } from '../follow/home.ts'
import { FollowRun } from '../follow/run.ts'
import { HOME_FLAG, homeOf, LISTEN_FLAGS } from '../home.ts'
import { serve, urlsOf } from './node.ts'

/** Settings under which blocks come from somewhere else. */
const OTHER_SOURCES = ['engine.enabled', 'consensus.enabled'] as const

export const follow: Command = {
  name: 'follow',
  doc: COMMAND_DOCS.follow,
  more: [
    'Each block is executed on what the node proves of the state (debug_executionWitness, or',
    'eth_getProof), checked up to its state root, and kept with its trace capsule. Requests that need',
    'the state itself, transactions, and requests about earlier blocks go to the node.',
  ],
  flags: {
    ...HOME_FLAG,
    upstream: {
      value: 'URL[,URL…]',
      settings: ['follow.upstream_urls'],
      doc: 'Nodes to follow, by JSON-RPC over HTTP; the first one that answers is followed.',
    },
    'upstream-ws': { value: 'URL', settings: ['follow.upstream_ws_url'], doc: 'WebSocket of the first one, for new heads.' },
    network: { value: 'NAME', doc: 'Rules of the chain: mainnet, sepolia, holesky or hoodi; the chain id names them.' },
    genesis: { value: 'FILE', doc: 'Rules of the chain: genesis in go-ethereum format.' },
    from: { value: 'BLOCK', settings: ['follow.from'], doc: 'First block of a new data directory: latest, finalized or a number.' },
    checkpoint: {
      value: 'HASH',
      settings: ['follow.checkpoint'],
      doc: 'Block that the chain must have; a new data directory begins after it.',
    },
    ...LISTEN_FLAGS,
  },
  settings: [
    'follow.source',
    'follow.verify',
    'follow.redirect',
    'evm.trace_bake_enabled',
    'evm.namespaces',
    'evm.cors_origins',
    'evm.auth_token_file',
  ],
  serves: true,
  async run(parsed, terminal) {
    const home = homeOf(parsed)
    const resolved = nodeSettings(parsed, home, terminal, false)
    const { settings } = resolved
    if (settings['follow.upstream_urls'].length === 0) throw new UsageError('--upstream is missing: the URL of the node to follow')
    const other = OTHER_SOURCES.find((key) => settings[key])
    if (other !== undefined) throw new UsageError(`${other} is true: blocks of hearth follow come from its upstream alone`)
    if (!hasChain(home)) await makeFollowerHome(home, resolved, parsed, terminal)
    const ready = async (server: Parameters<typeof urlsOf>[0]): Promise<string> =>
      `hearth is ready: JSON-RPC on ${urlsOf(server).join(' and ')}\n`
    // Within one run: a signal that comes meanwhile holds, and the watchdog of the process too.
    const complete = async (e: unknown): Promise<boolean> => {
      // The process that made the data directory ended before its stores had their first block.
      if (!(e instanceof CoreError) || e.kind !== 'home_empty') return false
      await makeFollowerHome(home, resolved, parsed, terminal)
      return true
    }
    return await serve('start', parsed, terminal, ready, { ...new FollowRun(settings).extras(home), complete })
  },
}
