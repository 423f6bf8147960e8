// What speaks against sending requests to a node under CometBFT.

import type { EngineView } from './rpc.ts'
import type { EngineState } from './supervisor.ts'

/** What the core says of its side: `consensusStatus`. */
export interface CoreStatus {
  /** Connections of CometBFT that are open. */
  readonly connections: number
  /** Height of the last block that was committed, as hex. */
  readonly height: string
  /** Milliseconds since then; null before the first one of this run. */
  readonly blockAgeMs: number | null
  /** Why the application refuses to continue; null while it does not. */
  readonly failure: string | null
}

/** The phase of the engine, from its supervisor. */
export interface EngineLife {
  readonly state: EngineState
  readonly reason: string | undefined
}

/** What is looked at. */
export interface ReadyLimits {
  /** 0 does not look at the age of the last block. */
  readonly maxBlockAgeMs: number
  readonly lagBlocks: number
}

/** What is known at this moment. */
export interface Known {
  /** Undefined if the engine is not supervised. */
  readonly life: EngineLife | undefined
  readonly core: CoreStatus
  /** Undefined where the engine does not answer, with the reason. */
  readonly view: EngineView | { readonly error: string }
  /** Milliseconds since this node was opened. */
  readonly openMs: number
}

/** A reason for not being ready; undefined where there is none. */
export function consensusReason({ life, core, view, openMs }: Known, { maxBlockAgeMs, lagBlocks }: ReadyLimits): string | undefined {
  if (core.failure !== null) return `consensus: this node does not continue: ${core.failure}`
  if (life?.state === 'failed') return `consensus: CometBFT is not started again: ${life.reason}`
  if (life !== undefined && life.state !== 'running') return `consensus: ${life.reason ?? 'CometBFT is being started'}`
  if (core.connections === 0) return 'consensus: no CometBFT is connected to this node'
  if (!('error' in view)) {
    const behind = view.highestPeer === null ? 0 : view.highestPeer - view.height
    if (behind > lagBlocks) return `consensus: ${behind} blocks behind, over ${lagBlocks} (consensus.ready_lag_blocks)`
    // A node whose peers have not reported their heights catches up as long as CometBFT reports so.
    if (view.catchingUp && view.highestPeer === null) return `consensus: catching up, at height ${view.height}`
  }
  const ageMs = core.blockAgeMs ?? openMs
  if (maxBlockAgeMs !== 0 && ageMs > maxBlockAgeMs)
    return `consensus: no block for ${Math.round(ageMs / 1000)} s, over ${maxBlockAgeMs / 1000} s (consensus.ready_max_block_age)`
  if ('error' in view) return `consensus: ${view.error}`
  return undefined
}
