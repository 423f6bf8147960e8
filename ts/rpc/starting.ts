// What JSON-RPC answers while the node opens: every request gets the same error, so that clients know to come again.
import type { Answer, Client, Dispatch } from './dispatch.ts'
import { errorAnswer, type Message, parseMessage } from './envelope.ts'
import { nodeIsStarting, toRpcError } from './errors.ts'

const encoder = new TextEncoder()

/** The error for every request of a message; none for notifications. */
function refuse(text: string): Answer {
  let message: Message
  try {
    message = parseMessage(text)
  } catch (e) {
    return encoder.encode(
      errorAnswer(
        'null',
        toRpcError(e, () => undefined),
      ),
    )
  }
  const answers = message.calls.flatMap((call) => {
    const error = 'error' in call ? call.error : nodeIsStarting()
    return call.id === undefined ? [] : [errorAnswer(call.id, error)]
  })
  if (answers.length === 0) return undefined
  return encoder.encode(message.batch ? `[${answers.join(',')}]` : (answers[0] as string))
}

/** A dispatcher that refuses until it is given the node's own. */
export class StartingDispatch {
  private open: Dispatch | undefined

  /** From here on requests go to the node. */
  become(dispatch: Dispatch): void {
    this.open = dispatch
  }

  readonly dispatch: Dispatch = (text: string, client: Client) => (this.open === undefined ? refuse(text) : this.open(text, client))
}
