// The engine of an open home: a supervised CometBFT, or one that the operator runs; its status;
// transactions for it.
import fs from 'node:fs'
import type { ComponentLog } from '../log/index.ts'
import { type AbciAddress, abciAddress } from './address.ts'
import { type Binary, type MempoolType, openBinary } from './binary.ts'
import { ConsensusError } from './error.ts'
import { broadcast, Gossip } from './gossip.ts'
import { ENGINE_FILES, engineFile } from './layout.ts'
import { endLeftOver, removePid, startArguments, writePid } from './left-over.ts'
import { freePort, listenUrl, reachUrl } from './ports.ts'
import { type CoreStatus, consensusReason, type ReadyLimits } from './ready.ts'
import { type EngineView, EngineViews } from './rpc.ts'
import { bringsState } from './state-sync.ts'
import { type EngineState, Supervisor } from './supervisor.ts'

/** What the settings say of the engine. */
export interface EngineSettings {
  readonly supervise: boolean
  readonly binary: string
  readonly abciAddress: string
  readonly rpcHost: string
  readonly rpcPort: number
  readonly p2pHost: string
  readonly p2pPort: number
  readonly timeoutCommitMs: number
  readonly txIndex: string
  /** Bounds of the node's pool, which CometBFT's mempool has too. */
  readonly pool: { readonly transactions: number; readonly bytes: number }
  readonly ready: ReadyLimits
  /** Whether the log has CometBFT's own information too. */
  readonly verbose: boolean
}

/** The core's side. */
export interface EngineCore {
  /** `consensusStatus`. */
  readonly status: () => Promise<CoreStatus>
  /** `consensusReap`. */
  readonly reap: (maxBytes: number) => Promise<readonly string[]>
}

/**
 * The environment of CometBFT: variables win over config.toml, whose other keys stay the
 * operator's.
 */
export const engineEnvironment = (
  { timeoutCommitMs, txIndex, pool, verbose }: EngineSettings,
  mempool: MempoolType,
  own: NodeJS.ProcessEnv = process.env,
): NodeJS.ProcessEnv => ({
  ...own,
  CMT_LOG_FORMAT: 'json',
  CMT_LOG_LEVEL: verbose ? 'info' : 'error',
  CMT_MEMPOOL_TYPE: mempool,
  // A smaller mempool would refuse what the pool has room for.
  CMT_MEMPOOL_SIZE: String(pool.transactions),
  CMT_MEMPOOL_MAX_TXS_BYTES: String(pool.bytes),
  CMT_CONSENSUS_TIMEOUT_COMMIT: `${timeoutCommitMs}ms`,
  CMT_TX_INDEX_INDEXER: txIndex,
})

/** The state of the engine, by the keys of the instruments. */
export interface EngineSample {
  readonly enginePeers: number | undefined
  readonly engineRound: number | undefined
  readonly enginePower: number | undefined
  /** Of a supervised CometBFT. */
  readonly engineRestarts: number | undefined
}

/** The engine of one run of the node. */
export class Engine {
  private readonly home: string
  private readonly settings: EngineSettings
  private readonly binary: Binary | undefined
  private readonly abci: AbciAddress
  private supervisor: Supervisor | undefined
  private gossip: Gossip | undefined
  private views: EngineViews | undefined
  private core: EngineCore | undefined
  private isBegun = false
  private openedAt = 0
  /** Where CometBFT's RPC is; undefined before `start`. */
  rpcUrl: string | undefined

  /**
   * Finds the program and chooses the socket. This runs before the stores are opened, since both
   * can fail. Throws `ConsensusError`.
   */
  constructor(home: string, settings: EngineSettings) {
    this.home = home
    this.settings = settings
    if (settings.supervise) {
      if (!fs.existsSync(engineFile(home, 'genesis')))
        throw new ConsensusError(
          `${home} has no ${ENGINE_FILES.genesis} in its folder cometbft: \`hearth init --cometbft\` makes a home with one, consensus.enabled=false serves this one without CometBFT`,
        )
      this.binary = openBinary(settings.binary)
    }
    this.abci = abciAddress(home, settings.abciAddress)
  }

  /** Where the core is to listen for CometBFT. */
  get address(): string {
    return this.abci.address
  }

  /** Whether CometBFT may bring the first state of the home: then it runs while the core opens. */
  get bringsState(): boolean {
    return this.settings.supervise && bringsState(this.home)
  }

  /**
   * Starts CometBFT if `begin` did not, and gives it transactions. Rejects with `ConsensusError`.
   */
  async start(core: EngineCore, log: ComponentLog): Promise<void> {
    await this.begin(log)
    const { binary, rpcUrl } = this
    this.core = core
    this.openedAt = performance.now()
    // A CometBFT that the operator runs gets transactions too; a version that requests them has
    // them already.
    if (rpcUrl === undefined || binary?.mempool === 'app') return
    this.gossip = new Gossip({
      reap: core.reap,
      send: (batch) => broadcast(rpcUrl, batch),
      isUp: () => this.supervisor === undefined || this.supervisor.state === 'running',
      warn: log.warn,
    })
    this.gossip.start()
  }

  /** Starts CometBFT; the core listens. Rejects with `ConsensusError`. */
  async begin(log: ComponentLog): Promise<void> {
    if (this.isBegun) return
    this.isBegun = true
    const { home, settings, binary } = this
    if (binary === undefined) {
      this.reach(settings.rpcPort)
      log.info('waiting for a CometBFT of the operator', { address: this.address })
      return
    }
    await endLeftOver(home, (what, pid) => log.info(what, { pid }))
    const rpcPort = await freePort(settings.rpcHost, settings.rpcPort, 'consensus.rpc_port')
    const p2pPort = await freePort(settings.p2pHost, settings.p2pPort, 'consensus.p2p_port')
    this.reach(rpcPort)
    log.info('CometBFT', { version: binary.version, program: binary.path, mempool: binary.mempool })
    this.supervisor = new Supervisor({
      program: binary.path,
      arguments: [
        ...startArguments(home, this.address),
        `--rpc.laddr=${listenUrl(settings.rpcHost, rpcPort)}`,
        `--p2p.laddr=${listenUrl(settings.p2pHost, p2pPort)}`,
      ],
      environment: engineEnvironment(settings, binary.mempool),
      log,
      started: (pid) => writePid(home, pid),
      ended: () => removePid(home),
    })
    this.supervisor.start()
  }

  /** CometBFT's RPC is on this port. */
  private reach(rpcPort: number): void {
    this.rpcUrl = reachUrl(this.settings.rpcHost, rpcPort)
    this.views = new EngineViews(this.rpcUrl)
  }

  /** The phase of the engine; undefined if it is not supervised. */
  get state(): EngineState | undefined {
    return this.supervisor?.state
  }

  /** How often it was started again. */
  get restarts(): number {
    return this.supervisor?.restarts ?? 0
  }

  /** How the engine does, as of at most a second ago. Rejects where it does not answer. */
  async view(): Promise<EngineView> {
    if (this.views === undefined) throw new ConsensusError('CometBFT is not started yet')
    return await this.views.get()
  }

  /** What the metrics say of the engine; what it does not answer is left out. Does not reject. */
  async sample(): Promise<EngineSample> {
    const view = await this.view().catch(() => undefined)
    return {
      enginePeers: view?.peers,
      engineRound: view?.round ?? undefined,
      enginePower: view?.votingPower,
      engineRestarts: this.supervisor?.restarts,
    }
  }

  /** A reason for not being ready; undefined where there is none. */
  async reason(): Promise<string | undefined> {
    const { core, supervisor } = this
    if (core === undefined) return 'consensus: CometBFT is not started yet'
    const failed = (e: unknown): { readonly error: string } => ({ error: e instanceof Error ? e.message : String(e) })
    const [status, view] = await Promise.all([core.status(), this.view().catch(failed)])
    const life = supervisor && { state: supervisor.state, reason: supervisor.reason }
    return consensusReason({ life, core: status, view, openMs: performance.now() - this.openedAt }, this.settings.ready)
  }

  /**
   * Ends CometBFT; resolves once it is gone. To be called before the stores close, and also if
   * `start` was never called.
   */
  async stop(): Promise<void> {
    this.gossip?.stop()
    await this.supervisor?.stop()
  }

  /** Removes what was made for the socket. To be called once the stores are closed. */
  remove(): void {
    this.abci.remove()
  }
}
