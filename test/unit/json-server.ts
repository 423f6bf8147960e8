// A server of JSON-RPC for tests of clients: it records requests and answers as the test says.
import http from 'node:http'
import type { AddressInfo } from 'node:net'

/** A request as it came. */
export interface Asked {
  readonly id: number
  readonly method: string
  readonly params: readonly unknown[]
}

/** What a test answers a whole message with. */
export interface Reply {
  readonly status?: number
  readonly body?: string | Buffer
  readonly headers?: Readonly<Record<string, string>>
  /** Ends the connection in place of an answer. */
  readonly destroy?: true
  /** Never answers. */
  readonly hang?: true
}

/** The server. */
export interface JsonServer {
  readonly url: string
  /** Messages in the order of their arrival; each is one request or a batch. */
  readonly messages: (readonly Asked[])[]
  stop(): Promise<void>
}

/** The result or error of one request. */
export type Answer = { readonly result: unknown } | { readonly error: object }

/** The reply to a message, each of whose requests `answer` answers. */
export function answered(requests: readonly Asked[], isBatch: boolean, answer: (request: Asked) => Answer): Reply {
  const all = requests.map((request) => ({ jsonrpc: '2.0', id: request.id, ...answer(request) }))
  return { body: JSON.stringify(isBatch ? all : all[0]) }
}

/**
 * The body of a request; undefined where the client has left in the middle of it, as one that a
 * test kills does.
 */
export async function bodyOf(request: http.IncomingMessage): Promise<string | undefined> {
  const parts: Buffer[] = []
  try {
    for await (const part of request) parts.push(part as Buffer)
  } catch {
    return undefined
  }
  return Buffer.concat(parts).toString()
}

/** Starts a server on a free port. */
export async function jsonServer(serve: (requests: readonly Asked[], isBatch: boolean) => Reply | Promise<Reply>): Promise<JsonServer> {
  const messages: (readonly Asked[])[] = []
  const server = http.createServer(async (request, response) => {
    const body = await bodyOf(request)
    if (body === undefined) return
    const message = JSON.parse(body) as Asked | Asked[]
    const requests = Array.isArray(message) ? message : [message]
    messages.push(requests)
    const { status = 200, body: text = '', headers, destroy, hang } = await serve(requests, Array.isArray(message))
    if (destroy) response.destroy()
    else if (!hang) response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    messages,
    stop: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
