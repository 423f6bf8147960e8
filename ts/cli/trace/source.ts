// Data sources of `hearth trace`: a node by its URL, the node that runs on a data directory, or the
// data directory itself.

import type { Settings } from '../../config/index.ts'
import { readerConfig, rpcContext } from '../../node/node-config.ts'
import { post, shownUrl } from '../../peers/post.ts'
import type { Parsed } from '../args.ts'
import type { Terminal } from '../command.ts'
import { homeOf, settingsOf } from '../home.ts'
import { lockHolder } from '../home-lock.ts'
import { findRunning, runTokenOf } from '../running.ts'

/** Longest time that a node may take for a trace, in milliseconds. */
export const CALL_MS_MAX = 300_000

/** A request to a node; rejects with the node's message. */
export type RpcCall = (method: string, ...params: unknown[]) => Promise<unknown>

/** A failure of the command, with a message for the user. */
export class TraceError extends Error {
  override name = 'TraceError'
}

/** The node does not have a method. */
export class NoSuchMethod extends TraceError {
  override name = 'NoSuchMethod'
}

/** Code of the error for a method that does not exist or is not served (JSON-RPC 2.0). */
const METHOD_NOT_FOUND = -32601

/**
 * Awaits a response of the data source. Turns a failure into a message, prefixed with its
 * subject.
 */
async function inWords<T>(work: Promise<T>, about?: string): Promise<T> {
  try {
    return await work
  } catch (e) {
    const message = e instanceof Error ? e.message : String(e)
    throw new TraceError(about === undefined ? message : `${about}: ${message}`)
  }
}

interface RpcAnswer {
  readonly result?: unknown
  readonly error?: { readonly code: number; readonly message: string }
}

/** Requests to a node over HTTP. */
function callUrl(url: string, token?: string): RpcCall {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
  return async (method, ...params) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    const { result, error } = (await inWords(
      post(url, body, { timeoutMs: CALL_MS_MAX, headers }),
      `the node at ${shownUrl(url)}`,
    )) as RpcAnswer
    if (error?.code === METHOD_NOT_FOUND) throw new NoSuchMethod(`${method}: ${error.message}`)
    if (error !== undefined) throw new TraceError(`${method}: ${error.message}`)
    return result
  }
}

/** The node that runs on a home, or the home itself, open for reading. */
async function openHome(
  home: string,
  settingsAt: (home: string) => Settings,
): Promise<{ readonly rpc: RpcCall; readonly close: () => Promise<void> }> {
  const holder = lockHolder(home)
  const running = holder === undefined ? undefined : findRunning(home, holder.pid)
  const url = running?.debugUrl ?? running?.httpUrl
  if (running !== undefined && url !== null && url !== undefined) {
    // The listener of debug methods has no others.
    const [debug, rest] = [callUrl(url, runTokenOf(home)), callUrl(running.httpUrl ?? url, runTokenOf(home))]
    const rpc: RpcCall = (method, ...params) => (method.startsWith('debug_') ? debug : rest)(method, ...params)
    return { rpc, close: async () => undefined }
  }
  const [{ openNode }, { makeCaller }] = await Promise.all([import('../../core/native.ts'), import('../../rpc/caller.ts')])
  const settings = settingsAt(home)
  const core = await inWords(openNode(readerConfig(home, settings)))
  const call = makeCaller(rpcContext(core, settings), (e) => process.emitWarning(e instanceof Error ? e : String(e)))
  return { rpc: (method, ...params) => inWords(call(method, params), method), close: () => core.close() }
}

/** Whom a command line names; closes what was opened for it. */
export async function openSource(
  parsed: Parsed,
  terminal: Terminal,
): Promise<{ readonly rpc: RpcCall; readonly close: () => Promise<void> }> {
  const url = parsed.flags.get('rpc')
  return url === undefined
    ? await openHome(homeOf(parsed), (home) => settingsOf(parsed, home, terminal).settings)
    : { rpc: callUrl(url), close: async () => undefined }
}
