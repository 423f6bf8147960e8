// hearth dev --fork-url: finds the remote node, configures the core with it, and reads from it what
// the core does not have.
import fs from 'node:fs'
import path from 'node:path'
import type { Settings } from '../../config/index.ts'
import type { NodeConfig } from '../../core/config.ts'
import { type FindOptions, ForkError, findOrigin, type Origin } from '../../fork/index.ts'

/** The block that the fork in a home began after; undefined where the home has no chain. */
function forkedBlock(home: string): number | undefined {
  const file = path.join(home, 'config', 'chain.json')
  if (!fs.existsSync(file)) return undefined
  const chain = JSON.parse(fs.readFileSync(file, 'utf8')) as { rules?: unknown; base?: unknown }
  if (chain.rules !== 'fork' || typeof chain.base !== 'number')
    throw new ForkError(`${home} holds a chain that is no fork: give another --home`)
  return chain.base
}

/** How origins are found under these settings; `warn` gets a line on one that is not verified. */
export const findOptions = (settings: Settings, warn: (line: string) => void): FindOptions => ({
  timeoutMs: settings['dev.fork_timeout'],
  verify: settings['dev.fork_verify'],
  onUnverified: (url, why) => warn(`the state of ${url} is not verified (dev.fork_verify): ${why}\n`),
})

/** The origin that the settings name; undefined where they name none. */
export async function originOf(home: string, settings: Settings, options: FindOptions): Promise<Origin | undefined> {
  const url = settings['dev.fork_url']
  if (url === 'none') return undefined
  const wanted = settings['dev.fork_block']
  const there = forkedBlock(home)
  if (there !== undefined && wanted !== 'latest' && wanted !== there) {
    throw new ForkError(`${home} is a fork after block ${there}: leave --fork-block out, or give another --home`)
  }
  return await findOrigin(url, there ?? (wanted === 'latest' ? undefined : wanted), options)
}

/** The configuration of a fork. */
export const forkConfig = (config: NodeConfig, settings: Settings, { chainId, block, verify }: Origin): NodeConfig => ({
  ...config,
  // Gas limit and chain id are the origin's where no setting says others.
  dev: {
    ...config.dev,
    ...(settings['dev.gas_limit'] === 'auto' ? { gasLimit: Number(block.gasLimit) } : {}),
    ...(settings['dev.chain_id'] === 'auto' ? { chainId } : {}),
  },
  fork: {
    chainId,
    block,
    timeoutMs: settings['dev.fork_timeout'],
    cacheBytes: settings['dev.fork_cache_bytes'],
    verify,
  },
})
