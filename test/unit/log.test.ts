// The log: lines as JSON and as text, levels by part of the node, requests that take long.
import { describe, expect, it } from 'vitest'
import type { LogLevel } from '../../ts/config/index.ts'
import { CoreError } from '../../ts/core/error.ts'
import { type KeptEvent, type Log, openLog } from '../../ts/log/index.ts'
import { makeDispatch } from '../../ts/rpc/dispatch.ts'
import { NO_METER, NO_WATCH, type SlowRequest } from '../../ts/rpc/meter.ts'
import { drain, fakeCore, fakeStream, PLAIN_RULES } from './fake-core.ts'

function log(format: 'json' | 'text', level: LogLevel = 'info', levels: string[] = []): [Log, string[]] {
  const lines: string[] = []
  return [openLog({ format, level, levels, write: (line) => lines.push(line) }), lines]
}

const TIME = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`

describe('a line', () => {
  it('is a JSON object with level, time, component and values', () => {
    const [root, lines] = log('json')
    root.component('rpc').warn('slow request', { method: 'eth_call', ms: 12, client: undefined })
    expect(lines).toHaveLength(1)
    expect(lines[0]?.endsWith('\n')).toBe(true)
    const { time, ...rest } = JSON.parse(lines[0] ?? '') as Record<string, unknown>
    expect(rest).toEqual({ level: 'warn', component: 'rpc', method: 'eth_call', ms: 12, msg: 'slow request' })
    expect(time).toMatch(new RegExp(`^${TIME}$`))
  })

  it('is one line of text if so set, whatever a client sent', () => {
    const [root, lines] = log('text')
    root.component('rpc').warn('slow request', { method: 'a\nb', ms: 12, ok: true })
    expect(lines).toHaveLength(1)
    expect(lines[0]).toMatch(new RegExp(`^${TIME} WARN rpc slow request method="a\\\\nb" ms=12 ok=true\n$`))
  })

  it('moves no cursor of a terminal', () => {
    const [root, lines] = log('text')
    root.report(new Error('the upstream said: no\n\u001b[2Jdone'))
    root.component('rpc').warn('slow request', { method: '\u001b]0;title\u0007', client: 'a \u009b2J \u202e' })
    expect(lines[0]).toContain('the upstream said: no\\u000a\\u001b[2Jdone name=Error\n')
    expect(lines[1]).toContain('method=\\u001b]0;title\\u0007 client="a \\u009b2J \\u202e"\n')
  })

  it('of a failure has its stack', () => {
    const [json, lines] = log('json')
    json.report(new TypeError('broken'))
    json.report('a word')
    const [first, second] = lines.map((line) => JSON.parse(line) as Record<string, unknown>)
    expect(first).toMatchObject({ level: 'error', component: 'node', msg: 'broken', name: 'TypeError' })
    expect(first?.stack).toContain('log.test.ts')
    expect(second).toMatchObject({ level: 'error', msg: 'a word' })
    const [text, shown] = log('text')
    text.report(new TypeError('broken'))
    expect(shown[0]).toMatch(/ ERROR node broken name=TypeError\n {4}at /)
    expect(shown[0]?.match(/broken/g)).toHaveLength(1)
  })
})

describe('events that are kept', () => {
  it('are written with their own times before the next line', () => {
    const [root, lines] = log('json', 'info', ['bake=silent'])
    const at = Date.now() - 60_000
    const kept: KeptEvent[] = [
      { level: 'info', component: 'stores', message: 'one', time: at, fields: { height: 7 } },
      { level: 'warn', component: 'bake', message: 'no', time: at + 1 },
      { level: 'error', component: 'chain', message: 'two', time: at + 2 },
    ]
    const leave = root.follow(() => kept.splice(0))
    const before = Date.now()
    root.component('node').info('serving')
    root.component('node').debug('no')
    const said = lines.map((line) => JSON.parse(line) as { time: string; msg: string; height?: number })
    expect(said.map(({ msg }) => msg)).toEqual(['one', 'two', 'serving'])
    expect(said.slice(0, 2).map(({ time }) => Date.parse(time))).toEqual([at, at + 2])
    expect(Date.parse(said[2]?.time ?? '')).toBeGreaterThanOrEqual(before)
    expect(said[0]?.height).toBe(7)
    kept.push({ level: 'info', component: 'chain', message: 'three', time: at })
    root.catchUp()
    expect(lines).toHaveLength(4)
    leave()
    kept.push({ level: 'info', component: 'chain', message: 'four', time: at })
    root.component('node').info('five')
    expect(lines.map((line) => (JSON.parse(line) as { msg: string }).msg).slice(3)).toEqual(['three', 'five'])
  })
})

describe('a failure of the core', () => {
  it('has the request that met it, and its message once', async () => {
    const [root, lines] = log('json')
    const failing = { getLogs: new CoreError('store', 'store: block 2 is damaged'), blockNumber: new TypeError('broken') }
    const context = { core: fakeCore(failing), namespaces: ['eth'], clientVersion: 'Hearth/test', ...PLAIN_RULES }
    const dispatch = makeDispatch(context, { requests: 5, responseBytes: 1000, concurrency: 2 }, root.report)
    const client = { connection: 'http', address: '203.0.113.9', onDisconnect: () => undefined } as const
    const asked = (id: unknown, method: string, params: unknown[]) => JSON.stringify({ jsonrpc: '2.0', id, method, params })
    await drain(await dispatch(asked('a1', 'eth_getLogs', [{}]), client))
    await drain(await dispatch(`[${asked(7, 'eth_blockNumber', [])}]`, client))
    const [store, defect] = lines.map((line) => JSON.parse(line) as Record<string, string>)
    const request = { connection: 'http', client: '203.0.113.9' }
    expect(store).toEqual({
      ...{ ...request, level: 'error', component: 'node', time: store?.time, name: 'CoreError', kind: 'store' },
      ...{ method: 'eth_getLogs', id: '"a1"', msg: 'store: block 2 is damaged' },
    })
    expect(defect).toMatchObject({ ...request, method: 'eth_blockNumber', id: '7', name: 'TypeError', msg: 'broken' })
    expect(defect?.stack).toMatch(/^ {4}at /)
    expect(lines.map((line) => line.match(/is damaged|broken/g)?.length)).toEqual([1, 1])
  })
})

describe('levels', () => {
  it('hold for all parts but those that have their own', () => {
    const [root, lines] = log('json', 'warn', ['bake=debug', 'memory=silent'])
    root.component('node').info('no')
    root.component('node').warn('one')
    root.component('bake').debug('two')
    root.component('memory').error('no')
    expect(lines.map((line) => (JSON.parse(line) as { msg: string }).msg)).toEqual(['one', 'two'])
  })
})

describe('requests that take long', () => {
  let clock = 0
  const meter = { ...NO_METER, now: () => clock }

  function watched(overMs: number): [dispatch: ReturnType<typeof makeDispatch>, slow: SlowRequest[]] {
    const slow: SlowRequest[] = []
    const core = fakeCore(
      {
        blockNumber: async () => {
          clock += 1500
          return '"0x1b"'
        },
        chainId: '"0x1"',
      },
      () => fakeStream(['[1', ',2', ',3]']),
    )
    const context = { core, namespaces: ['eth', 'debug'], clientVersion: 'Hearth/test', ...PLAIN_RULES }
    const limits = { requests: 5, responseBytes: 1000, concurrency: 2 }
    return [makeDispatch(context, limits, () => undefined, meter, { ...NO_WATCH, overMs, slow: (request) => slow.push(request) }), slow]
  }
  const client = { connection: 'http', address: '203.0.113.9', onDisconnect: () => undefined } as const
  const asked = (method: string, params: unknown[] = []) => JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })

  it('report method, connection, client, duration and bytes', async () => {
    const [dispatch, slow] = watched(1000)
    await dispatch(asked('eth_blockNumber'), client)
    await dispatch(asked('eth_chainId'), client)
    expect(slow).toEqual([
      { method: 'eth_blockNumber', connection: 'http', client: '203.0.113.9', ms: 1500, bytes: 6, success: true, errorClass: '' },
    ])
  })

  it('report streams and batches with all their bytes', async () => {
    const [dispatch, slow] = watched(-1)
    await drain(await dispatch(asked('debug_traceBlockByNumber', ['0x1']), client))
    await drain(await dispatch(`[${asked('eth_chainId')},${asked('debug_traceBlockByNumber', ['0x1'])},${asked('eth_nothing')}]`, client))
    expect(slow.map(({ method, bytes, success }) => [method, bytes, success])).toEqual([
      ['debug_traceBlockByNumber', 7, true],
      ['eth_chainId', 5, true],
      ['debug_traceBlockByNumber', 7, true],
      ['eth_nothing', 0, false],
    ])
  })

  it('are not reported below the threshold', async () => {
    const [dispatch, slow] = watched(1500)
    await dispatch(asked('eth_blockNumber'), client)
    expect(slow).toEqual([])
  })
})
