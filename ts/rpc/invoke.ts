// The way of one request from its method and parameters to the body of its result: the same for
// single requests, entries of batches, WebSocket messages and calls within this process.
import { type Body, EMPTY } from '../core/body.ts'
import { openResult, spliced } from '../core/chunks.ts'
import type { OpenOptions } from '../core/port.ts'
import type { DeniedNamespaces } from './client.ts'
import { toRpcError, unauthorized } from './errors.ts'
import { HandlerContexts, type Request } from './handler-context.ts'
import { type RequestInfo, type RequestMeter, SHOWN_CHARACTERS_MAX } from './meter.ts'
import type { Context, Method, Result } from './method.ts'
import { type FindReady, readyTraces } from './ready-trace.ts'
import { isLegacy, methodTable, namespaceOf, servedMethod, servedNamespaces } from './table.ts'

/** Takes failures that are this program's fault, and the request that met them. */
export type Report = (e: unknown, about?: RequestInfo & { readonly id: string | undefined }) => void

/** One request. */
export interface Invocation extends Request {
  /** The id as the client wrote it; undefined for a notification, whose result is not sent. */
  readonly id: string | undefined
  /** How the result is wanted. */
  readonly options: OpenOptions
}

/** The method of which batches consist that bring a development chain many transactions. */
const IN_LINE = 'eth_sendRawTransaction'

/** Text of which each character is one byte in UTF-8. */
const ASCII = /^[\x20-\x7e]*$/

/** A result that a handler gave as text or bytes, between its head and tail. */
function bodyOf(result: string | Uint8Array, options: OpenOptions): Body {
  if (typeof result !== 'string') return { kind: 'bytes', bytes: spliced(options, result) }
  const text = options.head === '' ? result : options.head + result + options.tail
  return ASCII.test(text) ? { kind: 'latin1', text } : { kind: 'bytes', bytes: Buffer.from(text) }
}

/** Whether a client may not use a method. */
export const isDenied = (name: string, denied: DeniedNamespaces | undefined): denied is DeniedNamespaces =>
  denied?.namespaces.has(namespaceOf(name)) === true

/** Invokes the methods of a node. */
export class Invoker {
  private readonly table: ReadonlyMap<string, Method>
  private readonly contexts: HandlerContexts
  private readonly findReady: FindReady | undefined
  private readonly report: Report
  private readonly inLine: boolean

  constructor(given: Context, report: Report, meter: RequestMeter) {
    this.inLine = given.core.dev && given.submission === 'pool' && given.redirects === undefined
    this.table = methodTable(servedNamespaces(given.namespaces, given.core.dev), given.denied, given.only, given.legacyChain)
    this.contexts = new HandlerContexts(given, meter, report)
    this.findReady = readyTraces(given.core, given.trace, report)
    this.report = report
  }

  /** Whether a method changes the node: it keeps its place in a batch. */
  writes(name: string): boolean {
    return this.table.get(name)?.cost === 'write'
  }

  /**
   * Whether a method that changes the node keeps its place in a line of the core too: its handler
   * makes one request there, at once.
   */
  queues(name: string): boolean {
    return name === IN_LINE && this.inLine
  }

  /**
   * The body of a result: between its head and tail where it is in one piece or in gzip, without
   * them where it is a stream. Throws and rejects with `RpcError`.
   */
  invoke(name: string, params: unknown, invocation: Invocation): Promise<Body> | Body {
    invocation.sample.begin()
    try {
      const body = this.resolve(name, params, invocation)
      return body instanceof Promise ? body.catch((e) => this.failed(e, invocation)) : body
    } catch (e) {
      return this.failed(e, invocation)
    }
  }

  private failed(e: unknown, invocation: Invocation): never {
    throw toRpcError(e, (e) => this.reportOf(e, invocation))
  }

  /** Reports a failure of one request. */
  reportOf(e: unknown, { sample, id }: Pick<Invocation, 'sample' | 'id'>): void {
    this.report(e, { ...sample.about, id: id?.slice(0, SHOWN_CHARACTERS_MAX) })
  }

  private resolve(name: string, params: unknown, invocation: Invocation): Promise<Body> | Body {
    const method = this.methodOf(name, invocation)
    const ready = this.ready(name, params, invocation)
    if (ready !== undefined) return ready
    const result = method.call(this.contexts.of(method, invocation), params)
    return result instanceof Promise ? result.then((settled) => this.opened(settled, invocation)) : this.opened(result, invocation)
  }

  private methodOf(name: string, { client: { denied }, headers }: Invocation): Method {
    if (isDenied(name, denied)) throw unauthorized(denied.why)
    const method = servedMethod(this.table, name)
    if (isLegacy(name)) headers.usedLegacy = true
    return method
  }

  /** The answer where it is baked and ready. */
  private ready(name: string, params: unknown, { id, options, sample, headers }: Invocation): Body | undefined {
    const ready = id === undefined ? undefined : this.findReady?.(name, params, options)
    if (ready === undefined) return undefined
    if (ready.historical) sample.historical()
    if (options.facts !== undefined) options.facts.origin = 'baked'
    this.contexts.mark(headers)
    return ready.body
  }

  private opened(result: Result, { id, client, options }: Invocation): Promise<Body> | Body {
    if (typeof result === 'string' || result instanceof Uint8Array) return id === undefined ? EMPTY : bodyOf(result, options)
    if (id === undefined) {
      result.cancel()
      return EMPTY
    }
    const body = openResult(result, options)
    if (body instanceof Promise || body.kind === 'stream') client.onDisconnect(() => result.cancel())
    return body
  }
}
