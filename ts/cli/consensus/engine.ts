// CometBFT with an open node: its settings, and the part of the core that it uses. Loaded only if
// it is enabled.

import fs from 'node:fs'
import type { Settings } from '../../config/index.ts'
import { Engine, type EngineCore } from '../../consensus/engine.ts'
import { ConsensusError } from '../../consensus/error.ts'
import type { CoreStatus } from '../../consensus/ready.ts'
import { socketMark, untilListening } from '../../consensus/state-sync.ts'
import { refuseBaking } from '../../consensus/validator.ts'
import { fetchValidators, ValidatorSets } from '../../consensus/validators.ts'
import type { ConsensusConfig } from '../../core/config.ts'
import type { Core } from '../../core/port.ts'
import { readAs, readJson } from '../../core/results.ts'
import { type CosmosHooks, type CosmosListeners, startCosmos } from '../../cosmos/index.ts'
import { type Log, levelOf } from '../../log/index.ts'
import { VERSION } from '../../node/version.ts'
import { forwardTo } from '../../peers/forward.ts'
import { shownUrl } from '../../peers/post.ts'
import type { Network } from '../../rpc/network.ts'
import { ownerOf } from '../../rpc/owner.ts'
import { REDIRECTED_HEADER, Redirects, validatorUrls } from '../../rpc/redirect.ts'

/** The engine of a node under these settings, which were checked. Throws `ConsensusError`. */
export function openEngine(home: string, settings: Settings): Engine {
  refuseBaking(home, settings['evm.trace_bake_enabled'])
  return new Engine(home, {
    supervise: settings['consensus.supervise'],
    binary: settings['consensus.cometbft_bin'],
    abciAddress: settings['consensus.abci_address'],
    rpcHost: settings['consensus.rpc_host'],
    rpcPort: settings['consensus.rpc_port'],
    p2pHost: settings['consensus.p2p_host'],
    p2pPort: settings['consensus.p2p_port'],
    timeoutCommitMs: settings['consensus.timeout_commit'],
    txIndex: settings['consensus.tx_index'],
    pool: { transactions: settings['txpool.max_transactions'], bytes: settings['txpool.max_bytes'] },
    ready: { maxBlockAgeMs: settings['consensus.ready_max_block_age'], lagBlocks: settings['consensus.ready_lag_blocks'] },
    verbose: levelOf({ level: settings['log.level'], levels: settings['log.levels'] }, 'consensus') === 'debug',
  })
}

/** The core's configuration of CometBFT. */
export const consensusConfig = ({ address, bringsState }: Engine, settings: Settings): ConsensusConfig => ({
  address,
  stateSync: bringsState,
  proposalBudgetMs: settings['consensus.proposal_budget'],
  retainBlocks: settings['consensus.retain_blocks'],
  snapshotIntervalBlocks: settings['consensus.snapshot_interval_blocks'],
})

/** The core, as the engine works with it. */
function engineCore(core: Core): EngineCore {
  return {
    status: () => readAs<CoreStatus>(core, 'consensusStatus', undefined),
    reap: (maxBytes) => readJson(core, 'consensusReap', { maxBytes }),
  }
}

/** Starts CometBFT on an open core. Rejects with `ConsensusError`. */
export const startEngine = (engine: Engine, core: Core, log: Log): Promise<void> =>
  engine.start(engineCore(core), log.component('consensus'))

/**
 * Opens a core to which CometBFT may bring the first state: CometBFT starts as soon as the core
 * listens for it. Resolves to undefined if a signal came before the core was open; the core
 * continues waiting then, so the process has to be ended. Where this rejects, CometBFT is gone.
 */
export async function openWithState(
  engine: Engine,
  open: () => Promise<Core>,
  stopped: Promise<void>,
  log: Log,
): Promise<Core | undefined> {
  const before = socketMark(engine.address)
  const [opening, asked] = [open(), stopped.then(() => undefined)]
  let isSettled = false
  const settle = (): void => {
    isSettled = true
  }
  void opening.then(settle, settle)
  void asked.then(settle)
  await untilListening(engine.address, before, () => isSettled)
  if (isSettled) return await Promise.race([opening, asked])
  log.component('consensus').info('the state of this node may come from a peer: it opens once CometBFT has brought it, or has found none')
  try {
    await engine.begin(log.component('consensus'))
    return await Promise.race([opening, asked])
  } catch (e) {
    // Without a core it would be started again and again.
    await engine.stop()
    throw e
  }
}

/** What methods of JSON-RPC say of the network. */
export const networkOf = (engine: Engine): Network => ({
  peers: async () => (await engine.view()).peers,
  sync: async () => {
    const { catchingUp, height, highestPeer } = await engine.view()
    return { catchingUp, height, highest: Math.max(height, highestPeer ?? height) }
  },
})

/**
 * How long after its last answer a validator gets a connection before a request, in milliseconds.
 */
const TRY_AFTER_MS = 1000

/** The header with the token for validators. Throws `ConsensusError`. */
function tokenHeader(file: string): Record<string, string> {
  if (file === 'none') return {}
  let token: string
  try {
    token = fs.readFileSync(file, 'utf8').trim()
  } catch (e) {
    throw new ConsensusError(`consensus.redirect_token_file cannot be read: ${(e as Error).message}`)
  }
  if (!/^\S+$/.test(token)) throw new ConsensusError(`consensus.redirect_token_file: ${file} has to hold one token on one line`)
  return { authorization: `Bearer ${token}` }
}

/**
 * What sends transactions to the validators of their senders; undefined where they stay here.
 * Throws `ConsensusError`.
 */
export function redirectsOf(engine: Engine, settings: Settings, log: Log): Redirects | undefined {
  if (settings['consensus.redirect'] === 'off') return undefined
  const headers = { [REDIRECTED_HEADER]: '1', ...tokenHeader(settings['consensus.redirect_token_file']) }
  const owners = [...validatorUrls(settings['consensus.validator_rpc'])].map(([address, url]) => {
    const onFailure = (reason: string, failures: number): void =>
      log.component('rpc').warn('a request to a validator failed', { validator: address, node: shownUrl(url), reason, failures })
    const forward = forwardTo({
      url,
      timeoutMs: settings['consensus.redirect_timeout'],
      inFlightMax: settings['evm.forward_max_in_flight'],
      headers,
      tryAfterMs: TRY_AFTER_MS,
      onFailure,
    })
    return [address, forward] as const
  })
  const sets = new ValidatorSets(() => fetchValidators(engine.rpcUrl ?? ''))
  return new Redirects(new Map(owners), () => sets.get(), ownerOf)
}

/**
 * Opens the listeners for clients of the Cosmos SDK. Rejects with `ListenError` or `AuthFileError`.
 */
export const startListeners = (
  engine: Engine,
  core: Core,
  settings: Settings,
  hooks: Pick<CosmosHooks, 'meter' | 'runToken' | 'report'>,
): Promise<CosmosListeners> => startCosmos(settings, { core, rpcUrl: () => engine.rpcUrl, version: VERSION, ...hooks })
