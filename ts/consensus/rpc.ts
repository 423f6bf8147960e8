// The RPC of CometBFT, as far as the node reads it: what it says of itself and of its peers.
import { type RefusalKind, type RpcError, refusalKind, textOf } from './refusals.ts'

/** Longest time for an answer, in milliseconds. */
const ANSWER_MS_MAX = 2000

/**
 * Maximum size of a response, in bytes: a dump of the consensus state with a hundred validators and
 * peers has a few megabytes.
 */
const ANSWER_BYTES_MAX = 32 * 1024 * 1024

/** The RPC did not answer, or with an error. */
export class EngineRpcError extends Error {
  override name = 'EngineRpcError'
}

/** CometBFT answered with an error. */
export class EngineRefusal extends EngineRpcError {
  override name = 'EngineRefusal'
  readonly kind: RefusalKind

  /** `where` is what was requested. */
  constructor(where: string, error: RpcError) {
    super(`${where}: ${textOf(error) || 'no result'}`)
    this.kind = refusalKind(error)
  }
}

/** Reads a body of bounded length. */
async function bodyOf(response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength
    if (bytes > ANSWER_BYTES_MAX) throw new EngineRpcError(`an answer of CometBFT is longer than ${ANSWER_BYTES_MAX} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

/** The parsed body of a request. Rejects with `EngineRpcError`. */
export async function fetchEngine(url: string, init: RequestInit = {}, withinMs = ANSWER_MS_MAX): Promise<unknown> {
  try {
    const response = await fetch(url, { ...init, signal: AbortSignal.timeout(withinMs) })
    return JSON.parse(await bodyOf(response)) as unknown
  } catch (e) {
    if (e instanceof EngineRpcError) throw e
    const { message, cause } = e as Error & { cause?: { code?: string; message?: string } }
    throw new EngineRpcError(`CometBFT does not answer: ${cause?.code ?? cause?.message ?? message}`)
  }
}

/** The result of a method by GET; `path` is `status`, `commit?height=7`. */
export async function engineResult<T>(url: string, path: string, withinMs?: number): Promise<T> {
  const { result, error } = (await fetchEngine(`${url}/${path}`, {}, withinMs)) as {
    result?: T
    error?: RpcError
  }
  if (result === undefined) throw new EngineRefusal(path, error ?? {})
  return result
}

/** What /status says, as far as it is read. */
export interface StatusAnswer {
  readonly node_info: { readonly id: string; readonly network: string; readonly listen_addr: string; readonly moniker: string }
  readonly sync_info: {
    readonly latest_block_height: string
    readonly earliest_block_height: string
    readonly catching_up: boolean
  }
  readonly validator_info: { readonly address: string; readonly voting_power: string }
}

/** What /validators says, as far as it is read. */
export interface ValidatorsAnswer {
  readonly block_height: string
  readonly validators: readonly { readonly address: string; readonly voting_power: string }[]
  readonly total: string
}

/** What /net_info says, as far as it is read. */
export interface NetInfoAnswer {
  readonly n_peers: string
  readonly peers: readonly { readonly node_info: { readonly id: string; readonly listen_addr: string }; readonly remote_ip: string }[]
}

/** What /dump_consensus_state says, as far as it is read. */
interface ConsensusDump {
  readonly round_state?: { readonly height?: string; readonly round?: number }
  readonly peers?: readonly { readonly peer_state?: unknown }[] | null
}

/** How the engine does. */
export interface EngineView {
  readonly height: number
  readonly catchingUp: boolean
  readonly votingPower: number
  readonly peers: number
  /** The height that is decided on, and in which round. */
  readonly deciding: number | null
  readonly round: number | null
  /** Height of the last block of the highest peer; null if no peer has reported its height. */
  readonly highestPeer: number | null
}

/**
 * The height that a peer decides on; undefined if it has not reported one. In some versions its
 * state is text.
 */
function peerHeight(state: unknown): number | undefined {
  try {
    const value = (typeof state === 'string' ? JSON.parse(Buffer.from(state, 'base64').toString()) : state) as
      | { round_state?: { height?: string } }
      | undefined
    const height = Number(value?.round_state?.height)
    return Number.isSafeInteger(height) && height > 0 ? height : undefined
  } catch {
    return undefined
  }
}

/** Queries the status of the engine. Rejects with `EngineRpcError` if it does not answer. */
export async function engineView(url: string): Promise<EngineView> {
  const [status, net, dump] = await Promise.all([
    engineResult<StatusAnswer>(url, 'status'),
    engineResult<NetInfoAnswer>(url, 'net_info'),
    // Beside the point where it fails: it says how far the peers are.
    engineResult<ConsensusDump>(url, 'dump_consensus_state').catch((): ConsensusDump => ({})),
  ])
  const heights = (dump.peers ?? []).flatMap(({ peer_state }) => peerHeight(peer_state) ?? [])
  const deciding = dump.round_state?.height
  return {
    height: Number(status.sync_info.latest_block_height),
    catchingUp: status.sync_info.catching_up,
    votingPower: Number(status.validator_info.voting_power),
    peers: Number(net.n_peers),
    deciding: deciding === undefined ? null : Number(deciding),
    round: dump.round_state?.round ?? null,
    highestPeer: heights.length === 0 ? null : Math.max(...heights) - 1,
  }
}

/** How old a view may be that is given again, in milliseconds. */
const VIEW_MS_MAX = 1000

/** Views of the engine, queried at most once a second, however many callers need one. */
export class EngineViews {
  private readonly view: () => Promise<EngineView>
  private readonly now: () => number
  private last: { readonly at: number; readonly view: Promise<EngineView> } | undefined

  constructor(url: string, view: (url: string) => Promise<EngineView> = engineView, now: () => number = () => performance.now()) {
    this.view = () => view(url)
    this.now = now
  }

  /** Rejects with `EngineRpcError`. */
  get(): Promise<EngineView> {
    const { last } = this
    if (last !== undefined && this.now() - last.at < VIEW_MS_MAX) return last.view
    const view = this.view()
    view.catch(() => undefined)
    this.last = { at: this.now(), view }
    return view
  }
}
