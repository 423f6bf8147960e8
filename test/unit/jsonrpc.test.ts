import { describe, expect, it } from 'vitest'
import { isEmpty } from '../../ts/core/body.ts'
import { CoreError } from '../../ts/core/error.ts'
import type { Core } from '../../ts/core/port.ts'
import { makeDispatch } from '../../ts/rpc/dispatch.ts'
import { drain, fakeCore, fakeStream, PLAIN_RULES } from './fake-core.ts'

const LIMITS = { requests: 5, responseBytes: 100, concurrency: 2 }
const reported: unknown[] = []

function dispatcher(core: Core, namespaces = ['eth', 'net', 'web3', 'debug', 'rpc'], limits = LIMITS) {
  const dispatch = makeDispatch({ core, namespaces, clientVersion: 'Hearth/test', ...PLAIN_RULES }, limits, (e) => reported.push(e))
  return async (body: unknown): Promise<string | undefined> => {
    const answer = await dispatch(typeof body === 'string' ? body : JSON.stringify(body), {
      connection: 'http',
      onDisconnect: () => undefined,
    })
    return isEmpty(answer.body) ? undefined : await drain(answer)
  }
}

const core = () => fakeCore({ blockNumber: '"0x1b"', getBalance: '"0x0"', sendRawTransaction: '"0xaa"' })
const ask = dispatcher(core())
const request = (id: string) => `{"jsonrpc":"2.0","id":${id},"method":"eth_blockNumber"}`

describe('ids', () => {
  it.each([
    '1',
    '0',
    '-7',
    '1.0',
    '1e3',
    '9007199254740993',
    '123456789012345678901234567890',
    '"a"',
    '""',
    '"\\u0041 \\" \\\\"',
    '"\\\\"',
    '"zwölf ☃"',
    'null',
    'true',
  ])('%s comes back byte for byte', async (id) => {
    expect(await ask(request(id))).toBe(`{"jsonrpc":"2.0","id":${id},"result":"0x1b"}`)
    expect(await ask(`[ ${request(id)} ,${request('2')}]`)).toBe(
      `[{"jsonrpc":"2.0","id":${id},"result":"0x1b"},{"jsonrpc":"2.0","id":2,"result":"0x1b"}]`,
    )
  })

  it('is found behind other members, spaces and escapes', async () => {
    const before = '"params" : [ ] , "x":{"id":5,"y":["}",{"id":6}]},"s":"\\"id\\":7",'
    expect(await ask(`\n{${before}"id"\t:\r 8.50 ,"jsonrpc":"2.0","method":"eth_blockNumber"}`)).toBe(
      '{"jsonrpc":"2.0","id":8.50,"result":"0x1b"}',
    )
    expect(await ask('{"id":1,"id":2,"jsonrpc":"2.0","method":"eth_blockNumber"}')).toBe('{"jsonrpc":"2.0","id":2,"result":"0x1b"}')
    expect(await ask('{"\\u0069d":3,"jsonrpc":"2.0","method":"eth_blockNumber"}')).toBe('{"jsonrpc":"2.0","id":3,"result":"0x1b"}')
  })

  it('that are objects or arrays make the request invalid', async () => {
    for (const id of ['{}', '[1]'])
      expect(await ask(request(id))).toBe('{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"invalid request"}}')
  })
})

describe('refusals', () => {
  it.each([
    ['', -32700, 'parse error', 'null'],
    ['{"jsonrpc":"2.0","id":1,', -32700, 'parse error', 'null'],
    ['{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber"} x', -32700, 'parse error', 'null'],
    ['"text"', -32600, 'invalid request', 'null'],
    ['null', -32600, 'invalid request', 'null'],
    ['7', -32600, 'invalid request', 'null'],
    ['{}', -32600, 'invalid request', 'null'],
    ['{"id":1,"method":"eth_blockNumber"}', -32600, 'invalid request', '1'],
    ['{"jsonrpc":"1.0","id":1,"method":"eth_blockNumber"}', -32600, 'invalid request', '1'],
    ['{"jsonrpc":"2.0","id":"q","method":7}', -32600, 'invalid request', '"q"'],
    ['{"jsonrpc":"2.0","id":1}', -32600, 'invalid request', '1'],
    ['[]', -32600, 'empty batch', 'null'],
    ['{"jsonrpc":"2.0","id":1,"method":"eth_nothing"}', -32601, 'the method eth_nothing does not exist/is not available', '1'],
    ['{"jsonrpc":"2.0","id":1,"method":"toString"}', -32601, 'the method toString does not exist/is not available', '1'],
    [
      '{"jsonrpc":"2.0","id":1,"method":"debug_traceBlockByNumberExcludeTraceFail"}',
      -32601,
      'the method debug_traceBlockByNumberExcludeTraceFail does not exist/is not available',
      '1',
    ],
    ['{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":{}}', -32602, 'non-array args', '1'],
    ['{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":"x"}', -32602, 'non-array args', '1'],
    ['{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[1]}', -32602, 'too many arguments, want at most 0', '1'],
    ['{"jsonrpc":"2.0","id":1,"method":"eth_getBalance","params":[]}', -32602, 'missing value for required argument 0', '1'],
  ])('%s', async (body, code, message, id) => {
    expect(await ask(body)).toBe(`{"jsonrpc":"2.0","id":${id},"error":{"code":${code},"message":${JSON.stringify(message)}}}`)
  })

  it('nesting beyond the limit, without a stack overflow', async () => {
    const deep = (n: number) => `{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[${'['.repeat(n)}${']'.repeat(n)}]}`
    expect(await ask(deep(100))).toContain('too many arguments')
    expect(await ask(deep(128))).toContain('-32700')
    expect(await ask(deep(200_000))).toContain('-32700')
  })

  it('method names beyond the limit', async () => {
    expect(await ask({ jsonrpc: '2.0', id: 1, method: 'x'.repeat(2049) })).toContain('method name too long: 2049 > 2048')
  })

  it('methods of a namespace that is not served', async () => {
    const only = dispatcher(core(), ['net'])
    expect(await only(request('1'))).toContain('-32601')
    expect(await only({ jsonrpc: '2.0', id: 1, method: 'rpc_modules' })).toContain('-32601')
    const rpc = dispatcher(core(), ['eth', 'rpc'])
    expect(await rpc({ jsonrpc: '2.0', id: 1, method: 'rpc_modules' })).toBe('{"jsonrpc":"2.0","id":1,"result":{"eth":"1.0","rpc":"1.0"}}')
  })
})

describe('failures of the core', () => {
  it.each([
    [
      new CoreError('execution_reverted', 'execution reverted: no', '0x0102'),
      '{"code":3,"message":"execution reverted: no","data":"0x0102"}',
    ],
    [new CoreError('header_not_found', 'header not found'), '{"code":-32000,"message":"header not found"}'],
    [new CoreError('invalid_params', 'bad "x"'), '{"code":-32602,"message":"bad \\"x\\""}'],
    [new CoreError('busy', 'node is busy'), '{"code":-32005,"message":"node is busy"}'],
  ])('%s', async (error, wire) => {
    const failing = dispatcher(fakeCore({ blockNumber: error }))
    expect(await failing(request('1'))).toBe(`{"jsonrpc":"2.0","id":1,"error":${wire}}`)
  })

  it('a defect is reported and hidden from the client', async () => {
    const defect = new Error('secret')
    const failing = dispatcher(fakeCore({ blockNumber: defect }))
    expect(await failing(request('1'))).toBe('{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"internal error"}}')
    expect(reported).toContain(defect)
  })
})

describe('notifications', () => {
  it('run and get no answer', async () => {
    const fake = core()
    const notify = dispatcher(fake)
    expect(await notify('{"jsonrpc":"2.0","method":"eth_blockNumber"}')).toBeUndefined()
    expect(fake.asked).toEqual([['blockNumber', undefined]])
    expect(await notify('{"jsonrpc":"2.0","method":"eth_nothing"}')).toBeUndefined()
    expect(await notify('[{"jsonrpc":"2.0","method":"eth_blockNumber"}]')).toBeUndefined()
  })
})

describe('batches', () => {
  it('keep their order, whatever takes how long', async () => {
    let calls = 0
    const slow = dispatcher(
      fakeCore({
        blockNumber: async () => {
          const n = ++calls
          await new Promise((resolve) => setTimeout(resolve, n === 1 ? 20 : 1))
          return String(n)
        },
      }),
    )
    const answer = await slow(`[${request('1')},5,${request('2')},{"jsonrpc":"2.0","method":"eth_blockNumber"},${request('3')}]`)
    const ids = (JSON.parse(answer as string) as { id: number; result?: number; error?: { code: number } }[]).map((r) => [
      r.id,
      r.error?.code ?? r.result,
    ])
    expect(ids).toEqual([
      [1, 1],
      [null, -32600],
      [2, 2],
      [3, 4],
    ])
  })

  it('run a transaction after earlier and before later requests', async () => {
    const order: string[] = []
    const note = (name: string) => async () => {
      order.push(`${name} begins`)
      await new Promise((resolve) => setTimeout(resolve, 5))
      order.push(`${name} ends`)
      return '1'
    }
    const writing = dispatcher(fakeCore({ blockNumber: note('read'), sendRawTransaction: note('write') }))
    await writing(`[${request('1')},{"jsonrpc":"2.0","id":2,"method":"eth_sendRawTransaction","params":["0x00"]},${request('3')}]`)
    expect(order).toEqual(['read begins', 'read ends', 'write begins', 'write ends', 'read begins', 'read ends'])
  })

  it('too many requests get one error with the first id', async () => {
    expect(await ask(`[${Array.from({ length: 6 }, (_, i) => request(String(i + 7))).join(',')}]`)).toBe(
      '[{"jsonrpc":"2.0","id":7,"error":{"code":-32600,"message":"batch too large"}}]',
    )
  })

  it('stop at the limit of bytes', async () => {
    const large = dispatcher(fakeCore({ blockNumber: JSON.stringify('x'.repeat(60)) }))
    const answer = JSON.parse((await large(`[${[1, 2, 3, 4].map((n) => request(String(n))).join(',')}]`)) as string) as {
      id: number
      error?: { code: number }
    }[]
    expect(answer.map((r) => [r.id, r.error?.code])).toEqual([
      [1, undefined],
      [2, undefined],
      [3, -32003],
      [4, -32003],
    ])
  })

  it('never cut off a stream, but refuse what follows a long one', async () => {
    const stream = fakeStream(['"', 'x'.repeat(60), 'x'.repeat(60), '"'])
    const tracing = dispatcher(fakeCore({ blockNumber: '1' }, () => stream))
    const trace = { jsonrpc: '2.0', id: 1, method: 'debug_traceBlockByNumber', params: ['0x1'] }
    const answer = JSON.parse((await tracing([trace, { ...trace, id: 2, method: 'eth_blockNumber', params: [] }])) as string)
    expect(answer).toEqual([
      { jsonrpc: '2.0', id: 1, result: 'x'.repeat(120) },
      { jsonrpc: '2.0', id: 2, error: { code: -32003, message: 'response too large' } },
    ])
  })

  it('stream if large, and name a late failure after the result', async () => {
    const long = fakeStream(['["', ...Array.from({ length: 40 }, () => 'x'.repeat(65_536)), '"]', new CoreError('trace', 'too late')])
    const tracing = dispatcher(fakeCore({ blockNumber: '"0x1"' }, () => long))
    const trace = { jsonrpc: '2.0', id: 1, method: 'debug_traceBlockByNumber', params: ['0x1'] }
    const answer = JSON.parse((await tracing([{ ...trace, id: 0, method: 'eth_blockNumber', params: [] }, trace])) as string)
    expect(answer[0]).toEqual({ jsonrpc: '2.0', id: 0, result: '0x1' })
    expect(answer[1].result[0].length).toBe(40 * 65_536)
    expect(answer[1].error).toEqual({ code: -32000, message: 'too late' })
    expect(answer.length).toBe(2)
  })
})

describe('streams', () => {
  const trace = { jsonrpc: '2.0', id: 'π', method: 'debug_traceTransaction', params: [`0x${'11'.repeat(32)}`, { tracer: 'callTracer' }] }

  it('stand in their envelope', async () => {
    for (const chunks of [['{"a":1}'], ['{"a"', ':1}'], ['{', '"a"', ':', '1}']]) {
      const fake = fakeCore({}, () => fakeStream(chunks))
      expect(await dispatcher(fake)(trace)).toBe('{"jsonrpc":"2.0","id":"π","result":{"a":1}}')
      expect(fake.asked).toEqual([
        ['traceTransaction', { hash: `0x${'11'.repeat(32)}`, config: { tracer: 'callTracer', timeout: '5000ms' } }],
      ])
    }
  })

  it('that fail at once are errors', async () => {
    const failing = dispatcher(fakeCore({}, () => fakeStream([new CoreError('transaction_not_found', 'transaction not found')])))
    expect(await failing(trace)).toBe('{"jsonrpc":"2.0","id":"π","error":{"code":-32000,"message":"transaction not found"}}')
  })

  it('that fail late name the error after the partial result', async () => {
    const failing = dispatcher(fakeCore({}, () => fakeStream(['[1', ',2', ']', new CoreError('trace', 'execution timeout')])))
    const text = (await failing(trace)) as string
    expect(text).toBe('{"jsonrpc":"2.0","id":"π","result":[1,2],"error":{"code":-32000,"message":"execution timeout"}}')
  })

  it('that break later fail the reader', async () => {
    const failing = dispatcher(fakeCore({}, () => fakeStream(['[1', ',2', new CoreError('closed', 'the node is closed')])))
    await expect(failing(trace)).rejects.toThrow('the node is closed')
  })
})
