// Answers to queries in both forms: from the core as it gives them, from CometBFT through the
// tables of messages.

import type { Core } from '../core/port.ts'
import { readAs } from '../core/results.ts'
import { ENGINE_QUERIES, type EngineSource, engineParams, PAGE_DEFAULT } from './engine-queries.ts'
import { CODES, invalid, notImplemented, QueryFailure } from './failure.ts'
import type { Query } from './queries.ts'
import { decode, encode, toJson, WireError } from './wire.ts'

/** Parameters of a query as REST gives them: of the path, the query string and the body. */
export type Params = Readonly<Record<string, string | readonly string[]>>

/** An answer; `height` is that of the state it is from, where it has one. */
export interface Answer {
  readonly body: Uint8Array | string
  readonly height: string | undefined
}

/**
 * Start of a JSON response of the core. The result is between it and the last brace.
 */
const JSON_HEAD = /^\{"code":0,"height":"(\d+)","body":/

/** Maximum length of this start, in bytes. */
const HEAD_BYTES_MAX = 64

/** A limit that is absent, or 0, which stands for the same. */
const NO_LIMIT = /^(?:\+?0+)?$/

/** An answer of the core in protobuf. */
interface CosmosAnswer {
  /** Of gRPC. */
  readonly code: number
  readonly log: string
  readonly value?: string
  readonly height?: string
}

/** Answers queries. Every method rejects with `QueryFailure` where the query has no answer. */
export class Answers {
  private readonly core: Core
  private readonly engine: EngineSource
  /** Most entries of a page. */
  private readonly pageMax: number

  constructor(core: Core, engine: EngineSource, pageMax: number) {
    this.core = core
    this.engine = engine
    this.pageMax = pageMax
  }

  /**
   * An answer in JSON, to bounded parameters; without a promise where it lies ready in memory.
   */
  json({ name, source }: Query, params: Params, height: number | undefined): Promise<Answer> | Answer {
    if (source === 'engine') return this.jsonOfEngine(name, params)
    const given = this.core.request('cosmosRest', { query: name, params, ...at(height) })
    return typeof given === 'string' ? jsonAnswer(given) : given.then(jsonAnswer)
  }

  private async jsonOfEngine(name: string, params: Params): Promise<Answer> {
    const query = ENGINE_QUERIES.get(name)
    if (query === undefined) throw notImplemented()
    const values = await query.answer(this.engine, engineParams(params))
    return { body: Buffer.from(JSON.stringify(toJson(query.response, values))), height: undefined }
  }

  /** An answer in protobuf. */
  async protobuf({ name, source }: Query, data: Buffer, height: number | undefined): Promise<Answer> {
    if (source === 'engine') {
      const query = ENGINE_QUERIES.get(name)
      if (query === undefined) throw notImplemented()
      try {
        const values = await query.answer(this.engine, decode(query.request, data))
        return { body: encode(query.response, values), height: undefined }
      } catch (e) {
        throw e instanceof WireError ? invalid(`the request cannot be read: ${e.message}`) : e
      }
    }
    const args = { path: `/${name}`, data: `0x${data.toString('hex')}` as const, ...at(height) }
    const answer = await readAs<CosmosAnswer>(this.core, 'cosmosQuery', args)
    if (answer.code !== CODES.ok) throw new QueryFailure(answer.code, answer.log, answer.height)
    return { body: Buffer.from((answer.value ?? '0x').slice(2), 'hex'), height: answer.height }
  }

  /** Parameters with no longer a page than the settings allow. */
  bounded(params: Params): Params {
    const given = params['pagination.limit']
    // As the core reads it: of several the last one counts, and a number may have a sign.
    const limit = (typeof given === 'string' ? given : given?.at(-1)) ?? ''
    const most = String(this.pageMax)
    if (NO_LIMIT.test(limit)) {
      if (this.pageMax >= PAGE_DEFAULT) return params
      // Without a limit the whole list is counted, whatever the request says of it.
      return { ...params, 'pagination.limit': most, 'pagination.count_total': 'true' }
    }
    if (!/^\+?\d+$/.test(limit) || BigInt(limit) <= BigInt(most)) return params
    return { ...params, 'pagination.limit': most }
  }
}

/** The answer in what the core returned, which is not parsed; throws `QueryFailure`. */
function jsonAnswer(given: Uint8Array | string): Answer {
  const bytes = typeof given === 'string' ? given : Buffer.from(given)
  const head = JSON_HEAD.exec(typeof bytes === 'string' ? bytes : bytes.subarray(0, HEAD_BYTES_MAX).toString('latin1'))
  if (head !== null) {
    const from = head[0].length
    return { body: typeof bytes === 'string' ? bytes.slice(from, -1) : bytes.subarray(from, -1), height: head[1] }
  }
  const { code, message, height } = JSON.parse(bytes.toString()) as { code: number; message: string; height?: string }
  throw new QueryFailure(code, message, height)
}

const at = (height: number | undefined): { readonly height?: number } => (height === undefined ? {} : { height })

/**
 * The height of a header or of metadata; undefined where there is none. 0 is the head, as in the
 * SDK.
 */
export function heightOf(text: string | undefined): number | undefined {
  if (text === undefined || text === '') return undefined
  const height = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
  if (Number.isNaN(height)) throw invalid(`x-cosmos-block-height has to be a height, not ${JSON.stringify(text.slice(0, 40))}`)
  return height === 0 ? undefined : height
}

/** Header of requests and answers, and metadata of gRPC: the height of the state that is read. */
export const HEIGHT_HEADER = 'x-cosmos-block-height'
