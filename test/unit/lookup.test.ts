// A method that is not served: the error is the same in the process and over a socket.
import { describe, expect, it } from 'vitest'
import { makeCaller } from '../../ts/rpc/caller.ts'
import { makeDispatch } from '../../ts/rpc/dispatch.ts'
import { RpcError } from '../../ts/rpc/errors.ts'
import type { Context } from '../../ts/rpc/method.ts'
import { drain, fakeCore, PLAIN_RULES } from './fake-core.ts'

const context = (namespaces: readonly string[], denied: readonly string[] = []): Context => ({
  ...PLAIN_RULES,
  core: fakeCore({}),
  namespaces,
  denied,
  clientVersion: 'test',
})

const fail = (e: unknown): void => {
  throw e
}

/** Code and message of a call in the process. */
async function inProcess(given: Context, method: string): Promise<unknown> {
  const error = await makeCaller(given, fail)(method, []).catch((e: unknown) => e)
  if (!(error instanceof RpcError)) throw new TypeError('the call is not refused with an RpcError')
  return { code: error.code, message: error.message }
}

/** Code and message of a call over a socket. */
async function overSocket(given: Context, method: string): Promise<unknown> {
  const dispatch = makeDispatch(given, { requests: 1, responseBytes: 1000, concurrency: 1 }, fail)
  const text = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: [] })
  const answer = await dispatch(text, { connection: 'http', onDisconnect: () => undefined })
  return JSON.parse(await drain(answer)).error
}

const absent = (method: string) => ({ code: -32601, message: `the method ${method} does not exist/is not available` })
const disabled = (method: string) => ({
  code: -32601,
  message: `${method} is not enabled on this node: add it to evm.enabled_legacy_chain_apis`,
})

const CHAIN = 'chain_getTransactionReceipt'

describe('a method that is not served', () => {
  it.each([
    [CHAIN, context(['eth']), disabled(CHAIN)],
    [CHAIN, context(['eth', 'chain']), disabled(CHAIN)],
    [CHAIN, context(['eth', 'chain'], [CHAIN]), disabled(CHAIN)],
    ['chain_unknown', context(['eth', 'chain']), disabled('chain_unknown')],
    ['Chain_getChainAddress', context(['eth', 'chain']), disabled('Chain_getChainAddress')],
    ['debug_traceTransaction', context(['eth']), absent('debug_traceTransaction')],
    ['eth_blockNumber', context(['eth'], ['eth_blockNumber']), absent('eth_blockNumber')],
    ['anvil_mine', context(['eth', 'anvil']), absent('anvil_mine')],
  ])('%s', async (method, given, error) => {
    expect(await overSocket(given, method)).toMatchObject(error)
    expect(await inProcess(given, method)).toEqual(error)
  })
})
