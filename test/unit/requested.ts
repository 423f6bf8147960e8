import { RpcError } from '../../ts/rpc/errors.ts'
import type { HandlerContext } from '../../ts/rpc/method.ts'
import { METHODS } from '../../ts/rpc/table.ts'
import { fakeCore, PLAIN_RULES } from './fake-core.ts'

const REPLIES = {
  executionWitness: '{}',
  intermediateRoots: '[]',
  storageRangeAt: '{}',
  getBadBlocks: '[]',
  traceStateAccess: '{}',
  getProof: '{}',
  simulateV1: '[]',
  getStorageValues: '{}',
  createAccessList: '{}',
  call: '"0x"',
  estimateGas: '"0x0"',
  getBalance: '"0x0"',
  getBlockId: '{"number":"0x0"}',
  getCode: '"0x"',
  getStorageAt: '"0x"',
  getTransactionCount: '"0x0"',
}

const notAsked = (): never => {
  throw new Error('following is not asked for here')
}
const NOT_ASKED: HandlerContext['follow'] = new Proxy({} as HandlerContext['follow'], { get: () => notAsked })

/** The operation that a method runs on the core, or its error. */
export async function asked(name: string, ...params: unknown[]): Promise<unknown> {
  const method = METHODS.find((m) => m.name === name)
  if (method === undefined) throw new Error(`no method ${name}`)
  const core = fakeCore(REPLIES)
  try {
    await method.call({ core, namespaces: [], clientVersion: '', ...PLAIN_RULES, follow: NOT_ASKED }, params)
  } catch (e) {
    if (e instanceof RpcError) return [e.code, e.message]
    throw e
  }
  return core.asked[0]?.[1]
}
