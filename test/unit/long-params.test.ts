// Long hexadecimal arguments reach the core as part of the bytes that came; whatever a message is,
// its answer and what the core is given are those of the same message as a string.
import { describe, expect, it } from 'vitest'
import { coreJson, LongText } from '../../ts/core/long-text.ts'
import type { Core } from '../../ts/core/port.ts'
import { makeDispatch } from '../../ts/rpc/dispatch.ts'
import { parseMessage } from '../../ts/rpc/envelope.ts'
import { LONG_TEXT_BYTES_MIN, LongParams } from '../../ts/rpc/long-params.ts'
import { ByteScanner, type Received } from '../../ts/rpc/scan.ts'
import { METHODS } from '../../ts/rpc/table.ts'
import { holdsBytes, takeMessage } from '../../ts/server/body.ts'
import { drain, fakeCore, fakeStream, PLAIN_RULES } from './fake-core.ts'

const LIMITS = { requests: 10, values: 1000, responseBytes: 1e9, concurrency: 1 }
const LONG = `0x${'ab'.repeat(LONG_TEXT_BYTES_MIN / 2)}`
const OTHER = `0x${'Cd'.repeat(LONG_TEXT_BYTES_MIN)}`

/** A message as a listener receives its bytes, in pieces. */
function received(text: string, piece = 50_001): Received {
  const bytes = Buffer.from(text)
  const scanner = new ByteScanner(LIMITS)
  for (let at = 0; at < bytes.length; ) {
    at = Math.min(at + piece, bytes.length)
    const refused = scanner.look(bytes.subarray(0, at), at === bytes.length)
    if (refused !== undefined) return refused
  }
  return takeMessage(bytes, scanner) as Received
}

/** A node's answer to a message, and the JSON that its core is given. */
async function served(message: Received): Promise<{ answer: string; asked: string[] }> {
  const asked: string[] = []
  const any: Record<string, string> = new Proxy({}, { get: () => '"0x1"' })
  const fake = fakeCore(any, () => fakeStream(['[]']))
  const given = (op: string, args: unknown): void => void asked.push(coreJson({ op, args }).toString())
  const core: Core = {
    ...fake,
    dev: true,
    request(op, args) {
      given(op, args)
      return fake.request(op, args)
    },
    stream(op, args) {
      given(op, args)
      return fake.stream(op, args)
    },
  }
  const namespaces = [...new Set(METHODS.map(({ name }) => name.split('_')[0] as string))]
  const dispatch = makeDispatch({ core, namespaces, clientVersion: 'x', ...PLAIN_RULES }, LIMITS, () => undefined)
  const answer = await drain(await dispatch(message, { connection: 'http', onDisconnect: () => undefined }))
  return { answer, asked }
}

/** Whether a message is served as the string is; gives that. */
async function same(text: string): Promise<{ answer: string; asked: string[] }> {
  const plain = await served(text)
  for (const piece of [text.length, 50_001, 65_536]) expect(await served(received(text, piece)), text.slice(0, 300)).toEqual(plain)
  return plain
}

const request = (method: string, params: string, id = '1'): string => `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${params}}`
const call = (data: string): string => request('eth_call', `[{"data":"${data}"},"latest"]`)

describe('a message with long arguments', () => {
  it('is parsed without them', () => {
    const message = received(call(LONG))
    expect(holdsBytes(message)).toBe(true)
    expect((message as { text: string }).text.length).toBeLessThan(300)
    const [only] = parseMessage(message as { text: string; scanned: { ids: string[] } }, LIMITS).calls
    expect((only as { params: unknown }).params).toBeInstanceOf(LongParams)
  })

  it('gives the core the same JSON', async () => {
    const { answer, asked } = await same(call(LONG))
    expect(answer).toBe('{"jsonrpc":"2.0","id":1,"result":"0x1"}')
    expect(asked).toEqual([JSON.stringify({ op: 'call', args: { transaction: { data: LONG }, block: 'latest' } })])
  })

  const texts: Record<string, string> = {
    'a batch': `[${call(LONG)},${request('web3_sha3', `["${OTHER}"]`, '"\\u0061"')},7,${call(LONG)}]`,
    'white space': ` { "jsonrpc" : "2.0" , "id" : 1.0 ,"method":"web3_sha3","params" : [ "${LONG}" ] } `,
    'both names of the data': request('eth_call', `[{"data":"${LONG}","input":"${OTHER}"}]`),
    'overrides, block and several accounts': request(
      'eth_call',
      `[{},null,{"0x${'01'.repeat(20)}":{"code":"${LONG}"},"0x${'02'.repeat(20)}":{"code":"${OTHER}","nonce":"0x1"}},{"number":"0x5"}]`,
    ),
    'a key that is there twice': request('eth_call', `[{"data":"${LONG}","data":"0x01"}]`),
    'a key that is there twice, the long text last': request('eth_call', `[{"data":"0x01","data":"${LONG}"}]`),
    'a member that no codec knows': request('eth_call', `[{"data":"0x01","other":"${LONG}"}]`),
    'a member beside one that no codec knows': request('eth_call', `[{"data":"${OTHER}","other":{"x":["${LONG}"]}}]`),
    'a key': request('eth_call', `[{"data":"0x01","${LONG}" \n: 1}]`),
    'a key of overrides': request('eth_call', `[{"data":"${OTHER}"},"latest",{"${LONG}":{}}]`),
    'a key named __proto__': request('eth_call', `[{"data":"${OTHER}","__proto__":"${LONG}"}]`),
    'an object named __proto__': request('eth_call', `[{"__proto__":{"data":"${LONG}"}}]`),
    'an id': request('web3_sha3', '["0x01"]', `"${LONG}"`),
    'an id and an argument': request('web3_sha3', `["${LONG}"]`, `"${OTHER}"`),
    'no id': `{"jsonrpc":"2.0","method":"web3_sha3","params":["${LONG}"]}`,
    'a method': `{"jsonrpc":"2.0","id":1,"method":"${LONG}","params":[]}`,
    'a method within a batch': `[{"jsonrpc":"2.0","id":1,"method":"${LONG}","params":["${OTHER}"]}]`,
    'a version': `{"jsonrpc":"${LONG}","id":1,"method":"web3_sha3","params":[]}`,
    'a member of the request': `{"jsonrpc":"2.0","id":1,"method":"web3_sha3","params":["0x01"],"x":"${LONG}"}`,
    'a method that is there twice': `{"jsonrpc":"2.0","id":1,"method":"${LONG}","method":"web3_sha3","params":["${OTHER}"]}`,
    'parameters that are no array': `{"jsonrpc":"2.0","id":1,"method":"web3_sha3","params":"${LONG}"}`,
    'parameters by name': `{"jsonrpc":"2.0","id":1,"method":"web3_sha3","params":{"data":"${LONG}"}}`,
    'nested arrays': request('eth_call', `[[["${LONG}"]],"${OTHER}"]`),
    'too many parameters': request('web3_sha3', `["${LONG}","${OTHER}"]`),
    'no object': `"${LONG}"`,
    'no objects': `["${LONG}",["${LONG}"]]`,
    'an error in another parameter': request('eth_call', `[{"data":"${LONG}","gas":"1"}]`),
    'an odd number of digits': call(`${LONG}a`),
    'a letter that is no digit': call(`${LONG}0g`),
    'a letter that is no digit in an array': request('testing_buildBlockV1', `["0x","x",["${OTHER}","${LONG}xx"]]`),
    'no prefix': call(LONG.slice(2)),
    'another prefix': call(`0X${LONG.slice(2)}`),
    escapes: call(`${LONG}\\u0061\\u0062`),
    'an escaped quote': call(`${LONG}\\"`),
    'characters beyond ASCII': request('eth_call', `[{"data":"${LONG}","é☃":"я"}]`, '"☃"'),
    'a character beyond ASCII in it': call(`${LONG}я`),
    'a control character in it': call(`${LONG}\n`),
    'no JSON behind it': `${call(LONG)}}`,
    'no JSON before it': `x${call(LONG)}`,
    'a comma too many': request('eth_call', `[{"data":"${LONG}",}]`),
    'no end': call(LONG).slice(0, -3),
    'no end of the argument': call(LONG).slice(0, -20),
    'a hash': request('eth_getTransactionByHash', `["${LONG}"]`),
    'a quantity': request('eth_getBlockByNumber', `["${LONG}",false]`),
    'a storage key': request('eth_getStorageAt', `["0x${'01'.repeat(20)}","${LONG}","latest"]`),
    'a name': request('debug_traceCall', `[{"data":"${OTHER}"},"latest",{"tracer":"${LONG}"}]`),
    'a trace': request('debug_traceCall', `[{"data":"${OTHER}"},"latest",{"tracer":"callTracer"}]`),
    'a stream': request('debug_traceBlock', `["${LONG}"]`),
    'a pair of a reorganisation': request('anvil_reorg', `[1,[["${LONG}",0]]]`),
    'a message to sign': request('eth_sign', `["0x${'01'.repeat(20)}","${LONG}"]`),
    'a transaction': request('eth_sendRawTransaction', `["${LONG}"]`),
    'a mark of another process': request('web3_sha3', `["${LONG}","long-text-00000000-0000-0000-0000-000000000000-0"]`),
  }
  it.each(Object.entries(texts))('is served as a string is: %s', async (_, text) => {
    await same(text)
  })

  it('is served so for every method and parameter', async () => {
    const objects = ['data', 'input', 'code', 'transactions'].map((name) => `{"${name}":"${LONG}"}`)
    for (const { name, params } of METHODS) {
      // The answer is random, or waits.
      if (/[sS]ubscribe|newFilter|newBlockFilter|newPendingTransactionFilter|Sync$/.test(name)) continue
      for (let place = 0; place <= params.length; place++) {
        for (const long of [`"${LONG}"`, `["${LONG}"]`, ...objects]) {
          const text = request(name, `[${[...Array(place).fill('"0x1"'), long].join()}]`)
          const plain = await served(text)
          expect(await served(received(text)), `${name} ${place} ${long.slice(0, 20)}`).toEqual(plain)
        }
      }
    }
  }, 120_000)
})

describe('a long text', () => {
  it('is the same in every place', () => {
    const bytes = Buffer.from(`"${LONG}"  "${OTHER}"`)
    const [one, two] = LongText.within(bytes, [
      { from: 1, to: 1 + LONG.length },
      { from: 5 + LONG.length, to: 5 + LONG.length + OTHER.length },
    ]) as [LongText, LongText]
    expect([String(one), JSON.stringify({ two })]).toEqual([LONG, JSON.stringify({ two: OTHER })])
    const args = { é: one, twice: [one, 'x'], two }
    const plain = JSON.stringify({ é: LONG, twice: [LONG, 'x'], two: OTHER })
    for (let times = 0; times < 3; times++) expect(coreJson(args).toString()).toBe(plain)
    expect(String(two)).toBe(OTHER)
  })

  it('frees the bytes that it came in once it is in others', () => {
    const bytes = Buffer.allocUnsafeSlow(LONG.length).fill(LONG)
    const [one] = LongText.within(bytes, [{ from: 0, to: LONG.length }]) as [LongText]
    const json = coreJson({ one })
    expect(bytes).toHaveLength(0)
    expect(json.toString()).toBe(`{"one":"${LONG}"}`)
    expect(one.take()).toBe(LONG)
    expect(json).toHaveLength(0)
  })

  it('costs requests without one nothing but a look', () => {
    expect(coreJson({ op: 'x', args: { a: 'b' } })).toBe('{"op":"x","args":{"a":"b"}}')
  })
})
