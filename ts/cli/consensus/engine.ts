// CometBFT beside an open node: what the settings say of it, and what of the core it works with. Loaded where it is on.
import type { Settings } from '../../config/index.ts'
import { Engine, type EngineCore } from '../../consensus/engine.ts'
import { ConsensusError } from '../../consensus/error.ts'
import type { CoreStatus } from '../../consensus/ready.ts'
import { socketMark, untilListening } from '../../consensus/state-sync.ts'
import { refuseBaking } from '../../consensus/validator.ts'
import type { ConsensusConfig } from '../../core/config.ts'
import type { Core } from '../../core/port.ts'
import { type Log, levelOf } from '../../log/index.ts'
import type { Network } from '../../rpc/network.ts'

/** The engine of a node under these settings. Throws `ConsensusError`. */
export function openEngine(home: string, settings: Settings): Engine {
  if (settings['engine.enabled'])
    throw new ConsensusError('engine.enabled and consensus.enabled exclude each other: a chain has one source of blocks')
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
    ready: { maxBlockAgeMs: settings['consensus.ready_max_block_age'], lagBlocks: settings['consensus.ready_lag_blocks'] },
    verbose: levelOf({ level: settings['log.level'], levels: settings['log.levels'] }, 'consensus') === 'debug',
  })
}

/** What the core is told of CometBFT. */
export const consensusConfig = ({ address, bringsState }: Engine, settings: Settings): ConsensusConfig => ({
  address,
  stateSync: bringsState,
  proposalBudgetMs: settings['consensus.proposal_budget'],
  retainBlocks: settings['consensus.retain_blocks'],
  snapshotIntervalBlocks: settings['consensus.snapshot_interval_blocks'],
})

/** The core, as the engine works with it. */
function engineCore(core: Core): EngineCore {
  const read = async <T>(bytes: Promise<Uint8Array>): Promise<T> => JSON.parse(Buffer.from(await bytes).toString()) as T
  return {
    status: () => read<CoreStatus>(core.request('consensusStatus', undefined)),
    reap: (maxBytes) => read<readonly string[]>(core.request('consensusReap', { maxBytes })),
  }
}

/** Starts CometBFT on an open core. Rejects with `ConsensusError`. */
export const startEngine = (engine: Engine, core: Core, log: Log): Promise<void> =>
  engine.start(engineCore(core), log.component('consensus'))

/**
 * Opens a core to which CometBFT may bring the first state: CometBFT starts as soon as the core listens for it. Resolves to undefined where
 * a signal came before the core was open; the core goes on waiting then, so that the process has to be ended.
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
  opening.then(settle, settle)
  asked.then(settle)
  await untilListening(engine.address, before, () => isSettled)
  if (isSettled) return await Promise.race([opening, asked])
  log.component('consensus').info('the state of this node may come from a peer: it opens once CometBFT has brought it, or has found none')
  await engine.begin(log.component('consensus'))
  return await Promise.race([opening, asked])
}

/** What methods of JSON-RPC say of the network. */
export const networkOf = (engine: Engine): Network => ({
  peers: async () => (await engine.view()).peers,
  sync: async () => {
    const { catchingUp, height, highestPeer } = await engine.view()
    return { catchingUp, height, highest: Math.max(height, highestPeer ?? height) }
  },
})
