// What the dispatcher shows the watchdog: what the thread began last.
import { describe, expect, it } from 'vitest'
import { makeDispatch } from '../../ts/rpc/dispatch.ts'
import { BEGUN_NAMES, NO_METER, NO_WATCH } from '../../ts/rpc/meter.ts'
import { fakeCore, PLAIN_RULES } from './fake-core.ts'

const client = { connection: 'http', address: '203.0.113.9', onDisconnect: () => undefined } as const
const asked = (method: string, params: unknown[] = []) => JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })

describe('the thread has begun', () => {
  const begun = new Uint32Array(1)
  const named = (): string | undefined => BEGUN_NAMES[begun[0] as number]
  /** What had begun at each call of the core. */
  const seen: (string | undefined)[] = []
  const answering = (json: string) => async (): Promise<string> => {
    seen.push(named())
    return json
  }
  const core = fakeCore({ blockNumber: answering('"0x1b"'), chainId: answering('"0x1"') })
  const context = { core, namespaces: ['eth'], clientVersion: 'Hearth/test', ...PLAIN_RULES }
  const limits = { requests: 5, responseBytes: 1000, concurrency: 1 }
  const dispatch = makeDispatch(context, limits, () => undefined, NO_METER, { ...NO_WATCH, begun })

  it('the method of a request, and of each one of a batch', async () => {
    expect(named()).toBe('none')
    await dispatch(asked('eth_blockNumber'), client)
    await dispatch(`[${asked('eth_chainId')},${asked('eth_blockNumber')}]`, client)
    expect(seen).toEqual(['eth_blockNumber', 'eth_chainId', 'eth_blockNumber'])
    await dispatch(asked('eth_nothing'), client)
    expect(named()).toBe('unknown')
  })

  it('reading a request, where its method is not known yet', async () => {
    const { parse } = JSON
    const before: (string | undefined)[] = []
    JSON.parse = (text: string, reviver?: Parameters<typeof parse>[1]) => {
      before.push(named())
      return parse(text, reviver)
    }
    try {
      await dispatch(asked('eth_chainId'), client)
    } finally {
      JSON.parse = parse
    }
    expect(before[0]).toBe('reading_request')
    await dispatch('{', client)
    expect(named()).toBe('reading_request')
  })
})
