// hearth replay through the binary: the lines, their order, standard output, and the answers of
// go-ethereum.
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { afterAll, describe, expect, it } from 'vitest'
import { FIXTURES, fixtures } from '../conformance/fixtures.ts'
import { hearth, spawnHearth, tempHome } from './harness.ts'
import { until } from './waiting.ts'

const dir = tempHome()
afterAll(() => fs.rmSync(dir, { recursive: true, force: true }))

/**
 * Configurations by the names of the answer files; two of them write their result while the
 * transaction runs.
 */
const TRACES: Readonly<Record<string, object>> = {
  structLogs: {},
  callTracer: { tracer: 'callTracer' },
  'structLogs.full': { enableMemory: true, enableReturnData: true },
  'callTracer.onlyTopCall': { tracer: 'callTracer', tracerConfig: { onlyTopCall: true } },
  flatCallTracer: { tracer: 'flatCallTracer' },
  'callTracer.withLog': { tracer: 'callTracer', tracerConfig: { withLog: true } },
  'prestateTracer.diffMode': { tracer: 'prestateTracer', tracerConfig: { diffMode: true } },
  '4byteTracer': { tracer: '4byteTracer' },
  muxTracer: {
    tracer: 'muxTracer',
    tracerConfig: { callTracer: { onlyTopCall: true }, '4byteTracer': null, prestateTracer: { diffMode: true } },
  },
}

/** JSON with sorted keys and no white space: the text that a digest is of. */
function sorted(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(sorted).join(',')}]`
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${sorted(member)}`).join(',')}}`
}

/** The first eight bytes of the hash of that text, as the answer files have it. */
const digest = (value: unknown): string => createHash('sha256').update(sorted(value)).digest('hex').slice(0, 16)

/** The lines on standard output of a replay that must succeed, and say nothing else. */
function lines(args: readonly string[]): unknown[] {
  const r = hearth(['replay', ...args])
  expect([r.status, r.stderr]).toEqual([0, ''])
  expect(r.stdout.endsWith('\n')).toBe(true)
  return r.stdout
    .slice(0, -1)
    .split('\n')
    .map((line) => JSON.parse(line))
}

const flags = (names: readonly string[]): string[] => names.flatMap((name) => ['--trace', JSON.stringify(TRACES[name])])
const names = Object.keys(TRACES)

/**
 * A transfer of one ether, signed as in the example of EIP-155, from an account with enough ether.
 */
const TRANSFER = {
  genesis: {
    config: { chainId: 1, homesteadBlock: 0, eip150Block: 0, eip155Block: 0, eip158Block: 0 },
    alloc: { '0x9d8A62f656a8d1615C1294fd71e9CFb3E4855A4F': { balance: '0xde0b6b3a7640000000', nonce: '0x9' } },
  },
  context: {
    number: '7',
    timestamp: '9',
    miner: '0x00000000000000000000000000000000000000bb',
    gasLimit: '30000000',
    difficulty: '3',
  },
  input:
    '0xf86c098504a817c800825208943535353535353535353535353535353535353535880de0b6b3a76400008025a028ef61340bd939bc2195fe537567866003e1a15d3c71ff63e1590620aa636276a067cbe9d8997f761aecb703304b3800ccf555c9f3dc64214b297fb1966a3b6d83',
}

/** Writes a file for a replay. */
function file(name: string, content: object | string): string {
  const at = path.join(dir, name)
  fs.writeFileSync(at, typeof content === 'string' ? content : JSON.stringify(content))
  return at
}

describe('hearth replay', () => {
  it('gives a line a file and configuration, in their order', () => {
    const transfer = file('transfer.json', TRANSFER)
    const call = expect.objectContaining({ type: 'CALL', gasUsed: '0x5208', value: '0xde0b6b3a7640000' })
    const steps = { structLogs: [], gas: 21000, failed: false, returnValue: '0x' }
    const both = '{"tracer":"muxTracer","tracerConfig":{"opcodeTracer":null,"callTracer":null}}'
    const traces = ['--trace', '{}', '--trace', 'callTracer', '--trace', both, '--trace', '{"enableMemory":true}']
    const each = [steps, call, { opcodeTracer: { ...steps, summary: {} }, callTracer: call }, steps]
    expect(lines([transfer, transfer, ...traces])).toEqual([...each, ...each])
    expect(lines([transfer])).toEqual([steps])
  })

  it.each([
    ['nothing', 'error: unknown tracer "nothing"; known: callTracer, '],
    ['{"tracer":1}', 'error: json: cannot unmarshal number into Go struct field TraceConfig.Tracer of type string\n'],
    ['{"tracer":', 'error: --trace {"tracer":: '],
    ['', 'error: --trace takes a configuration as JSON or the name of a tracer, not an empty text\n'],
    ['{"timeout":"5"}', 'error: time: missing unit in duration "5"\n'],
  ])('refuses --trace %j before it writes anything', (config, message) => {
    const r = hearth(['replay', file('good.json', TRANSFER), '--trace', 'callTracer', '--trace', config])
    expect([r.status !== 0, r.stdout, r.stderr.slice(0, message.length)]).toEqual([true, '', message])
  })

  it('names a file that it cannot replay', () => {
    const good = file('good.json', TRANSFER)
    const bad = file('bad.json', '{"pre":{}}')
    const refused = (args: readonly string[]): [boolean, string, string] => {
      const r = hearth(['replay', ...args])
      return [r.status !== 0, r.stdout, r.stderr]
    }
    expect(refused([bad, '--trace', 'callTracer'])).toEqual([true, '', expect.stringContaining(`${bad}: neither a tracer test`)])
    expect(refused([good, '--tx', '1'])).toEqual([
      true,
      '',
      expect.stringContaining('transaction index 1 is out of range: the block has 1'),
    ])
    expect(refused([good, '--tx', '-1'])).toEqual([true, '', expect.stringContaining('--tx takes the position of a transaction')])
    expect(refused(['/nowhere.json'])).toEqual([true, '', expect.stringContaining('/nowhere.json does not exist')])
  })

  it('takes settings from flags and the environment', () => {
    const script = '{step:function(){},fault:function(){},result:function(){return "x".repeat(5000)}}'
    const replay = (args: readonly string[], env: NodeJS.ProcessEnv = {}) => {
      const { status, stdout, stderr } = hearth(
        ['replay', file('good.json', TRANSFER), '--trace', JSON.stringify({ tracer: script, timeout: '5m' }), ...args],
        env,
      )
      return { status, stdout: stdout.trimEnd(), stderr }
    }
    const whole = { status: 0, stdout: `"${'x'.repeat(5000)}"`, stderr: '' }
    const off = { status: 1, stdout: '', stderr: expect.stringContaining('JavaScript tracers are not allowed') }
    const tooLong = { status: 1, stdout: expect.stringContaining('4096'), stderr: expect.anything() }
    expect(replay([])).toEqual(whole)
    expect(replay(['--evm.trace_allow_js_tracers=false'])).toEqual(off)
    expect(replay([], { HEARTH_EVM_TRACE_ALLOW_JS_TRACERS: 'false' })).toEqual(off)
    expect(replay(['--evm.trace_js_output_bytes=4096'])).toEqual(tooLong)
    expect(replay([], { HEARTH_EVM_TRACE_JS_OUTPUT_BYTES: '4096' })).toEqual(tooLong)
    expect(replay(['--evm.trace_js_output_bytes=16384'], { HEARTH_EVM_TRACE_JS_OUTPUT_BYTES: '4096' })).toEqual(whole)
  })

  it('refuses invalid settings', () => {
    const replay = (args: readonly string[], env: NodeJS.ProcessEnv = {}) => {
      const { status, stdout, stderr } = hearth(['replay', file('good.json', TRANSFER), ...args], env)
      return { status, stdout, stderr }
    }
    const flag = '--evm.trace_js_workers'
    const variable = 'HEARTH_EVM_TRACE_JS_WORKERS'
    const refused = (where: string) => ({
      status: 2,
      stdout: '',
      stderr: expect.stringMatching(new RegExp(`^error: ${where} takes auto or an integer from 1 to 256, not "many"`)),
    })
    expect(replay([`${flag}=many`])).toEqual(refused(flag))
    expect(replay([], { [variable]: 'many' })).toEqual(refused(variable))
  })

  it('writes the error of a failed trace on its line', () => {
    const poor = file('poor.json', { ...TRANSFER, genesis: { ...TRANSFER.genesis, alloc: {} } })
    const traces = ['--trace', 'callTracer', '--trace', '{}', '--trace', 'noopTracer']
    const r = hearth(['replay', poor, file('good.json', TRANSFER), ...traces])
    const found = r.stdout.trimEnd().split('\n')
    const message = expect.stringContaining('nonce too high')
    expect(r.status).not.toBe(0)
    expect(r.stderr).toContain(poor)
    expect(found.slice(0, 3).map((line) => JSON.parse(line))).toEqual(Array(3).fill({ error: { code: -32000, message } }))
    expect(found.slice(3).map((line) => Object.keys(JSON.parse(line)).length > 1)).toEqual([true, true, false])
  })

  const noTests = fixtures('tracetest') === undefined
  it.skipIf(noTests).each(['call_tracer/revert', 'call_tracer_withLog/simple', 'prestate_tracer/create_create'])(
    'answers as go-ethereum does for %s, under every configuration at once',
    (name) => {
      const answers = fs.readFileSync(path.join(FIXTURES, 'geth-answers/tracetest', `${name}.json.gz`))
      const want = JSON.parse(gunzipSync(answers).toString()).digests
      const found = lines([path.join(FIXTURES, 'tracetest', `${name}.json`), ...flags(names)])
      expect(Object.fromEntries(names.map((config, i) => [config, digest(found[i])]))).toEqual(
        Object.fromEntries(names.map((config) => [config, want[config]])),
      )
    },
  )

  const noBlocks = fixtures('mainnet-blocks') === undefined
  it.skipIf(noBlocks)('answers as go-ethereum for a recorded block', () => {
    const block = path.join(FIXTURES, 'mainnet-blocks/116525.json.gz')
    const answers = path.join(FIXTURES, 'geth-answers/mainnet-blocks/116525/digests.json')
    const want = JSON.parse(fs.readFileSync(answers).toString())
    const whole = lines([block, ...flags(names)]) as { txHash: string; result: unknown }[][]
    expect(whole.length).toBe(names.length)
    for (const [i, config] of names.entries()) {
      if (!(config in want)) continue
      expect([config, whole[i]?.map((element) => digest(element.result))]).toEqual([config, want[config]])
    }
    const last = (whole[0]?.length ?? 0) - 1
    expect(last).toBeGreaterThan(0)
    const one = lines([block, '--tx', String(last), ...flags(names)])
    expect(one).toEqual(whole.map((elements) => elements[last]?.result))
  })
})

describe.skipIf(process.platform !== 'linux')('a gzip file that inflates to more than a case may have', () => {
  /** Longest case, in bytes (crates/evm/src/recorded). */
  const LIMIT = 2 ** 30
  const MIB = 2 ** 20
  const file = path.join(dir, 'bomb.json.gz')

  /** Exit code, what was printed, and the most memory that was seen while it ran, in bytes. */
  async function watched(args: readonly string[]): Promise<{ status: number | null; text: string; peak: number }> {
    const child = spawnHearth(args)
    let [text, peak, status]: [string, number, number | null | undefined] = ['', 0, undefined]
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (data: Buffer) => {
        text += data.toString()
      })
    child.once('close', (code) => {
      status = code
    })
    await until('its end', () => {
      try {
        const held = /VmHWM:\s+(\d+) kB/.exec(fs.readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]
        peak = Math.max(peak, Number(held ?? 0) * 1024)
      } catch {
        // It has ended.
      }
      return status !== undefined
    })
    return { status: status ?? null, text, peak }
  }

  it('is refused by replay and import, and never lies in memory', async () => {
    const member = gzipSync(Buffer.alloc(64 * MIB, ' '))
    fs.writeFileSync(file, Buffer.concat(Array.from({ length: 24 }, () => member)))
    for (const args of [
      ['replay', '--trace', '{"tracer":"callTracer"}', file],
      ['import', '--home', path.join(dir, 'bombed'), '--case', file],
    ]) {
      const { status, text, peak } = await watched(args)
      expect([status, text]).toEqual([1, expect.stringContaining(`longer than ${LIMIT} bytes`)])
      expect(peak).toBeGreaterThan(0)
      expect(peak).toBeLessThan(512 * MIB)
    }
  })
})
