// A new data directory of hearth follow: where its chain begins, and by which rules.
import fs from 'node:fs'
import path from 'node:path'
import type { Resolved, Settings } from '../../config/index.ts'
import { CoreError } from '../../core/error.ts'
import { initFollower } from '../../core/native.ts'
import { FollowError, reached, Upstream } from '../../follow/index.ts'
import { storage } from '../../node/node-config.ts'
import { type Parsed, UsageError } from '../args.ts'
import type { Terminal } from '../command.ts'
import { inputFile } from '../commands/job.ts'
import { addSettingsFile, makeHome } from '../home.ts'

/** Networks whose rules are built in, by their chain ids. */
const NETWORKS: ReadonlyMap<number, string> = new Map([
  [1, 'mainnet'],
  [11_155_111, 'sepolia'],
  [17_000, 'holesky'],
  [560_048, 'hoodi'],
])

const descriptionOf = (home: string): string => path.join(home, 'config', 'chain.json')

/** Whether a data directory has a chain already, or the description of one. */
export const hasChain = (home: string): boolean => fs.existsSync(descriptionOf(home))

/**
 * Hash of the block after which a data directory begins whose making was interrupted: its
 * description is there, and its stores may be empty.
 */
function begunAfter(home: string): string | undefined {
  if (!hasChain(home)) return undefined
  const { baseHash } = JSON.parse(fs.readFileSync(descriptionOf(home), 'utf8')) as { baseHash?: unknown }
  return typeof baseHash === 'string' ? baseHash : undefined
}

/** The rules of the chain, by flags or by the chain id. */
function rulesOf({ flags }: Parsed, chainId: number, shown: string): { readonly network?: string; readonly genesis?: string } {
  const [network, genesis] = [flags.get('network'), flags.get('genesis')]
  if (network !== undefined && genesis !== undefined)
    throw new UsageError('--network and --genesis both name the rules of the chain: give one of them')
  if (genesis !== undefined) return { genesis: fs.readFileSync(inputFile(genesis, 'the genesis file'), 'utf8') }
  if (network !== undefined) return { network }
  const found = NETWORKS.get(chainId)
  if (found !== undefined) return { network: found }
  throw new UsageError(
    `${shown} has chain ${chainId}, whose rules are not built in: give --genesis FILE, in go-ethereum format (built in: ${[...NETWORKS.values()].join(', ')})`,
  )
}

/** Number or hash of the block below the first one that is to be followed. */
async function baseOf(upstream: Upstream, { settings, origins }: Resolved): Promise<string | number> {
  const [from, checkpoint] = [settings['follow.from'], settings['follow.checkpoint']]
  if (checkpoint !== 'none' && origins['follow.from'] === 'default') return checkpoint.toLowerCase()
  if (typeof from === 'number') return from - 1
  const first = await upstream.headerAt(from)
  if (first === undefined) throw new FollowError(`${upstream.shown} has no ${from} block yet`)
  return first.number === 0 ? first.hash : first.parentHash
}

/** An upstream for the requests before the node serves. */
export const upstreamOf = (url: string, settings: Settings): Upstream =>
  new Upstream({
    url,
    timeoutMs: settings['follow.timeout'],
    witnessBytesMax: settings['follow.max_witness_bytes'],
    readsAtOnce: settings['follow.redirect_max_in_flight'],
  })

/**
 * Makes a data directory that follows the first upstream, or completes one. Rejects with
 * `FollowError`.
 */
export async function makeFollowerHome(home: string, resolved: Resolved, parsed: Parsed, terminal: Terminal): Promise<void> {
  const { settings } = resolved
  const upstream = upstreamOf(settings['follow.upstream_urls'][0] as string, settings)
  try {
    const { clientVersion, chainId } = await reached(upstream, { source: settings['follow.source'], verify: settings['follow.verify'] })
    const chain = rulesOf(parsed, chainId, upstream.shown)
    const [base, genesis] = await Promise.all([begunAfter(home) ?? baseOf(upstream, resolved), upstream.headerAt('0x0')])
    const header = await upstream.headerBytes(base)
    makeHome(home)
    const { fsync, flatkv, littable } = storage(home, settings)
    const made = await initFollower({
      home,
      chain,
      base: header,
      upstream: { clientVersion, ...(genesis === undefined ? {} : { genesisHash: genesis.hash }) },
      store: { fsync, flatkv, littable },
    })
    addSettingsFile(home)
    checkBase(base, made.base, upstream.shown)
    if (made.chainId !== chainId)
      throw new FollowError(`${upstream.shown} has chain ${chainId}, and the rules are those of chain ${made.chainId}`)
    const trust = settings['follow.checkpoint'] === 'none' ? `, as ${upstream.shown} says` : ''
    terminal.out(`${home} follows chain ${chainId} from block ${made.base.number + 1} on, after ${made.base.hash}${trust}\n`)
  } catch (e) {
    throw explained(e, upstream.shown)
  } finally {
    upstream.close()
  }
}

/** A failure of the upstream as one of this command. */
function explained(e: unknown, shown: string): unknown {
  const isKnown = e instanceof UsageError || e instanceof CoreError || e instanceof FollowError || !(e instanceof Error) || 'syscall' in e
  return isKnown ? e : new FollowError(`cannot follow ${shown}: ${e.message}`)
}

/** The header that the upstream gave must be the block that was requested. */
function checkBase(wanted: string | number, made: { readonly number: number; readonly hash: string }, shown: string): void {
  if (wanted === made.number || wanted === made.hash) return
  throw new FollowError(`${shown} gave another header than that of block ${wanted}: ${made.hash}`)
}
