// The answer of JSON-RPC while the node opens: every request gets the same error, so that clients
// know to retry.
import { EMPTY } from '../core/body.ts'
import type { Client, Dispatch } from './dispatch.ts'
import { errorAnswer, type Message, parseMessage } from './envelope.ts'
import { nodeIsStarting, RpcError, toRpcError } from './errors.ts'
import type { Reply } from './reply.ts'
import { BatchTooLarge, type Received, type RequestLimits } from './scan.ts'

const replyOf = (text: string): Reply => ({ body: { kind: 'bytes', bytes: Buffer.from(text) }, headers: {} })

/** The error for every request of a message; none for notifications. */
function refuse(body: Received, limits: RequestLimits): Reply {
  let message: Message
  try {
    if (body instanceof RpcError) throw body
    message = parseMessage(body, limits)
  } catch (e) {
    const error = toRpcError(e, () => undefined)
    return replyOf(error instanceof BatchTooLarge ? `[${errorAnswer(error.id ?? 'null', error)}]` : errorAnswer('null', error))
  }
  const answers = message.calls.flatMap((call) => {
    const error = 'error' in call ? call.error : nodeIsStarting()
    return call.id === undefined ? [] : [errorAnswer(call.id, error)]
  })
  if (answers.length === 0) return { body: EMPTY, headers: {} }
  return replyOf(message.batch ? `[${answers.join(',')}]` : (answers[0] as string))
}

/** A dispatcher that refuses until it is given the node's own. */
export class StartingDispatch {
  private open: Dispatch | undefined
  private readonly limits: RequestLimits

  constructor(limits: RequestLimits) {
    this.limits = limits
  }

  /** From here on requests go to the node. */
  become(dispatch: Dispatch): void {
    this.open = dispatch
  }

  readonly dispatch: Dispatch = (body: Received, client: Client) =>
    this.open === undefined ? refuse(body, this.limits) : this.open(body, client)
}
