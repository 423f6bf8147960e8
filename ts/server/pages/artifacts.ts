// Names and lines of contracts by the artifacts that the node was given: `POST /_/identify` and
// `GET /_/source/ID`. A request names addresses and ids, never a path.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Received } from '../../rpc/scan.ts'
import type { Admission } from '../admission/index.ts'
import { BodyRefused, BodyStalled, readBody } from '../body.ts'
import type { IdleClock } from '../idle.ts'
import { isJson } from '../media.ts'
import { IDENTIFY, SOURCE } from './route.ts'

/** A request for names. */
export interface IdentifyQuestion {
  /** A hash, a number in hex, or a tag. */
  readonly block: string
  readonly addresses: readonly string[]
  /** Data of creations that made no account. */
  readonly creations: readonly string[]
}

/** Artifacts for the explorer; results are sent as JSON. */
export interface ArtifactService {
  readonly identify: (question: IdentifyQuestion) => Promise<unknown>
  /** Undefined where there is no contract of this id. */
  readonly source: (id: string) => Promise<unknown | undefined>
}

/** Addresses and creations of one request. */
export const ADDRESSES_MAX = 256
const CREATIONS_MAX = 16

/** Bytes of a request: sixteen creations of the largest size that EIP-3860 allows, in hex, fit. */
const BODY_BYTES_MAX = 2 * 1024 * 1024

interface Answering {
  readonly send: (body: unknown) => void
  readonly say: (status: number, message: string) => void
}

const isListOf = (value: unknown, most: number, pattern: RegExp): value is readonly string[] =>
  Array.isArray(value) && value.length <= most && value.every((entry) => typeof entry === 'string' && pattern.test(entry))

/** A request, checked; undefined where it is none. */
function questionOf(body: string): IdentifyQuestion | undefined {
  let parsed: unknown
  try {
    parsed = JSON.parse(body)
  } catch {
    return undefined
  }
  const { block = 'latest', addresses = [], creations = [] } = (parsed ?? {}) as Partial<Record<keyof IdentifyQuestion, unknown>>
  if (typeof block !== 'string' || !/^(0x[0-9a-f]{64}|0x[0-9a-f]{1,16}|latest|pending|safe|finalized|earliest)$/.test(block))
    return undefined
  if (!isListOf(addresses, ADDRESSES_MAX, /^0x[0-9a-f]{40}$/) || !isListOf(creations, CREATIONS_MAX, /^0x([0-9a-f]{2})*$/)) return undefined
  return { block, addresses, creations }
}

/** Serves both routes. */
export class ArtifactRoutes {
  private readonly artifacts: ArtifactService
  private readonly admission: Admission
  private readonly idle: IdleClock

  constructor(artifacts: ArtifactService, admission: Admission, idle: IdleClock) {
    this.artifacts = artifacts
    this.admission = admission
    this.idle = idle
  }

  async serve(request: IncomingMessage, response: ServerResponse, path: string, answering: Answering): Promise<void> {
    if (path !== IDENTIFY) return this.source(path.slice(SOURCE.length), answering)
    if (!isJson(request.headers['content-type'])) return answering.say(415, 'the content type must be application/json')
    const body = await this.body(request, response)
    if (body === undefined) return
    if (body instanceof Error) {
      answering.say(body instanceof BodyStalled ? 408 : body instanceof BodyRefused ? 429 : 413, body.message)
      return
    }
    const question = questionOf(typeof body === 'string' ? body : body.text)
    if (question === undefined) {
      answering.say(
        400,
        `the request must be {"block": TAG, "addresses": at most ${ADDRESSES_MAX}, "creations": at most ${CREATIONS_MAX}}, hex in lower case`,
      )
      return
    }
    answering.send(await this.artifacts.identify(question))
  }

  private async source(id: string, { send, say }: Answering): Promise<void> {
    const found = await this.artifacts.source(id)
    if (found === undefined) say(404, 'there is no contract of this id: the artifacts may have been compiled again')
    else send(found)
  }

  /** The body, or why it was not read; undefined if the client has disconnected. */
  private body(request: IncomingMessage, response: ServerResponse): Promise<Received | Error | undefined> {
    const { admission, idle } = this
    const address = admission.clientOf(request)
    let taken = 0
    const take = (bytes: number): string | undefined => {
      if (!admission.httpShares.take(address, bytes)) return 'server busy'
      if (!admission.httpBytes.take(bytes)) {
        admission.httpShares.release(address, bytes)
        return 'server busy'
      }
      taken += bytes
      return undefined
    }
    return new Promise((resolve) => {
      const forget = readBody(request, { bytes: BODY_BYTES_MAX, idle, take }, resolve)
      response.once('close', () => {
        forget()
        admission.httpBytes.release(taken)
        admission.httpShares.release(address, taken)
        resolve(undefined)
      })
    })
  }
}
