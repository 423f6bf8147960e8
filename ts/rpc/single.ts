// The reply to a message of one request.
import { type Body, EMPTY, isWhole, lengthOf } from '../core/body.ts'
import type { Client } from './client.ts'
import { type BadCall, type Call, isBad, RESULT_TAIL, resultHead } from './envelope.ts'
import type { RpcError } from './errors.ts'
import { type Invocation, type Invoker, isDenied } from './invoke.ts'
import type { Sample } from './meter.ts'
import { failureBody, type Reply, type ReplyHeaders } from './reply.ts'
import { enveloped, measuredGzip, ReplyStream } from './reply-stream.ts'

/** A request on its way. */
function invocationOf(id: string | undefined, client: Client, sample: Sample): Invocation {
  const headers: ReplyHeaders = {}
  const head = id === undefined ? '' : resultHead(id)
  const options = { head, tail: RESULT_TAIL, gzipOver: client.gzipOver, client: client.address, facts: headers }
  return { id, client, sample, subscriber: client.subscriber, headers, options }
}

/** The body of a reply: its result is counted, and a stream gets its envelope. */
function measured(body: Body, invoker: Invoker, invocation: Invocation): Body {
  const { id, sample, options } = invocation
  if (isWhole(body)) {
    if (id !== undefined) sample.made(lengthOf(body) - options.head.length - options.tail.length)
    sample.succeed()
    return body
  }
  if (id === undefined) return EMPTY
  if (body.kind === 'gzip') return measuredGzip(body, sample)
  const { stream } = body
  const chunks = enveloped(id, stream, sample, (e) => invoker.reportOf(e, invocation))
  return { kind: 'stream', stream: new ReplyStream(chunks, [sample], () => stream.cancel()) }
}

const answered = (body: Body, invoker: Invoker, invocation: Invocation): Reply => ({
  body: measured(body, invoker, invocation),
  headers: invocation.headers,
})

function refused(error: RpcError, { id, sample, headers }: Invocation): Reply {
  sample.fail(error)
  return { body: failureBody(id, error), headers }
}

/** Answers a message of one request; never throws, never rejects. */
export function answerSingle(invoker: Invoker, call: Call | BadCall, client: Client, sample: Sample): Promise<Reply> | Reply {
  const invocation = invocationOf(call.id, client, sample)
  if (isBad(call)) return refused(call.error, invocation)
  if (isDenied(call.method, client.denied)) invocation.headers.isUnauthorized = true
  try {
    const body = invoker.invoke(call.method, call.params, invocation)
    if (!(body instanceof Promise)) return answered(body, invoker, invocation)
    const failed = (e: RpcError): Reply => refused(e, invocation)
    return body.then((settled) => answered(settled, invoker, invocation), failed)
  } catch (e) {
    return refused(e as RpcError, invocation)
  }
}
