// An error that another node answered with, as clients of this node may get it.
import { foreignText } from './words.ts'

/** An error of JSON-RPC from another node. */
export class PeerError extends Error {
  override name = 'PeerError'
  readonly code: number
  /** The message of the other node, without control characters and of bounded length. */
  readonly said: string
  readonly data: unknown

  constructor(method: string, code: number, message: string, data: unknown) {
    const said = foreignText(message)
    super(`${method}: ${said}`)
    this.said = said
    this.code = code
    this.data = data
  }
}
