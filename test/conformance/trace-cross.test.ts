// Recorded blocks of Ethereum: what the trace namespace says of them, against the tracers of
// debug_*.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { hearth, rpc, startNode } from '../e2e/harness.ts'
import { fixtures } from './fixtures.ts'

const dir = fixtures('mainnet-blocks')

/** One of so many recorded blocks is looked at; all of them in the full run. */
const EVERY = process.env.HEARTH_TEST === 'full' ? 1 : 8

interface Frame {
  readonly type: string
  readonly from: string
  readonly to?: string
  readonly gas: string
  readonly gasUsed: string
  readonly input: string
  readonly output?: string
  readonly value?: string
  readonly error?: string
  readonly calls?: readonly Frame[]
}

interface Trace {
  readonly action: Record<string, string>
  readonly result?: Record<string, string> | null
  readonly error?: string
  readonly subtraces: number
  readonly traceAddress: readonly number[]
  readonly type: string
}

/**
 * Whether the trace namespace leaves a call out: it never began, or a precompiled contract answered
 * it for nothing.
 */
function isHidden(frame: Frame): boolean {
  if (/^(max call depth exceeded|insufficient balance for transfer)$/.test(frame.error ?? '')) return true
  const called = /^0x0{38}[0-9a-f]{2}$/.test(frame.to ?? '') && Number(frame.to) >= 1 && Number(frame.to) <= 0x11
  const free = frame.type === 'DELEGATECALL' || BigInt(frame.value ?? 0) === 0n
  return called && free && !frame.type.startsWith('CREATE') && frame.type !== 'SELFDESTRUCT'
}

/**
 * The frames of callTracer as traces; the gas of the transaction's own frame is another number
 * there.
 */
function flattened(frame: Frame, at: readonly number[] = []): object[] {
  const calls = (frame.calls ?? []).filter((call) => !isHidden(call))
  const kind = frame.type === 'SELFDESTRUCT' ? 'suicide' : frame.type.startsWith('CREATE') ? 'create' : 'call'
  const own = { kind, from: frame.from, at: [...at], subtraces: calls.length, failed: kind !== 'suicide' && frame.error !== undefined }
  const receiver = kind === 'create' && frame.error !== undefined ? undefined : frame.to
  const gas = at.length === 0 || kind === 'suicide' ? undefined : frame.gas
  return [{ ...own, to: receiver, gas }, ...calls.flatMap((call, i) => flattened(call, [...at, i]))]
}

function comparable({ action, result, error, subtraces, traceAddress, type }: Trace): object {
  const to = { call: action.to, suicide: action.refundAddress, create: result?.address }[type]
  const gas = traceAddress.length === 0 || type === 'suicide' ? undefined : action.gas
  const from = action.from ?? action.address
  return { kind: type, from, at: traceAddress, subtraces, failed: error !== undefined, to, gas }
}

/** A call as ots_traceTransaction has it, of callTracer's frames. */
interface OtsCall {
  readonly type: string
  readonly depth: number
  readonly from: string
  readonly to: string
  readonly value: string | null
  readonly input: string
  readonly output: string
}

/**
 * The frames of callTracer in ots_traceTransaction's form; the address of a creation that failed is
 * not in callTracer.
 */
function otsCalls(frame: Frame, depth = 0): object[] {
  const ownValue = frame.type !== 'DELEGATECALL' && frame.type !== 'STATICCALL'
  const call = {
    type: frame.type,
    depth,
    from: frame.from,
    to: frame.to ?? expect.any(String),
    value: ownValue ? frame.value : null,
    input: frame.input ?? '0x',
    output: frame.output ?? '0x',
  }
  return [call, ...(frame.calls ?? []).flatMap((inner) => otsCalls(inner, depth + 1))]
}

const OPERATIONS: Readonly<Record<string, number>> = { CALL: 0, SELFDESTRUCT: 1, CREATE: 2, CREATE2: 3 }

/**
 * The frames of callTracer below a transaction's own in ots_getInternalOperations' form: those that
 * move value or make and end contracts.
 */
function operations(frame: Frame): object[] {
  return (frame.calls ?? []).flatMap((call) => {
    const type = OPERATIONS[call.type]
    const moves = type !== undefined && (type !== 0 || BigInt(call.value ?? 0) > 0n)
    const own = { type, from: call.from, to: call.to ?? expect.any(String), value: call.value }
    return [...(moves ? [own] : []), ...operations(call)]
  })
}

interface Account {
  readonly balance?: string
  readonly nonce?: number
  readonly storage?: Record<string, string>
}

interface VmTrace {
  readonly code: string
  readonly ops: readonly { readonly pc: number; readonly sub: VmTrace | null }[]
}

/** Balances of prestateTracer's difference: of each account that changed, before and after. */
function balances({ pre, post }: { pre: Record<string, Account>; post: Record<string, Account> }): Record<string, unknown> {
  const changed = Object.entries(post).filter(([, account]) => account.balance !== undefined)
  return Object.fromEntries(changed.map(([address, account]) => [address, [pre[address]?.balance ?? '0x0', account.balance]]))
}

type Change = '=' | { '*'?: { from: string; to: string }; '+'?: string; '-'?: string }

function parityBalances(diff: Record<string, { balance: Change }>): Record<string, unknown> {
  const pairs = Object.entries(diff).map(([address, { balance }]) => {
    if (balance === '=') return undefined
    if (balance['*'] !== undefined) return [address, [balance['*'].from, balance['*'].to]]
    return balance['+'] === undefined || balance['+'] === '0x0' ? undefined : [address, ['0x0', balance['+']]]
  })
  return Object.fromEntries(pairs.filter((pair) => pair !== undefined) as [string, unknown][])
}

/**
 * Instructions of a vmTrace, those of its calls included, without STOP: the one behind the end of
 * code is in no vmTrace.
 */
function instructions({ code, ops }: VmTrace): number {
  const isStop = (pc: number): boolean => code.slice(2 + 2 * pc, 4 + 2 * pc) === '00'
  return ops.reduce((sum, { pc, sub }) => sum + (isStop(pc) ? 0 : 1) + (sub === null ? 0 : instructions(sub)), 0)
}

const files = dir
  ? fs
      .readdirSync(dir)
      .filter((name) => name.endsWith('.json.gz'))
      .sort()
      .filter((_, i) => i % EVERY === 0)
  : []

describe.skipIf(!dir)('recorded blocks', () => {
  it.each(files)('%s', async (file) => {
    const home = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-cross-'))
    expect(hearth(['import', '--home', home, '--case', path.join(dir ?? '', file)]).status).toBe(0)
    const node = await startNode(['start', '--home', home])
    try {
      const call = async <T>(method: string, ...params: unknown[]): Promise<T> => {
        const { result, error } = await rpc(node.url, method, params)
        expect(error, method).toBeUndefined()
        return result as T
      }
      const tracer = async <T>(name: string, tracerConfig: object = {}): Promise<T[]> =>
        (await call<{ result: T }[]>('debug_traceBlockByNumber', 'latest', { tracer: name, tracerConfig })).map(({ result }) => result)
      const replays = await call<{ trace: Trace[]; stateDiff: Record<string, { balance: Change }>; transactionHash: string }[]>(
        'trace_replayBlockTransactions',
        'latest',
        ['trace', 'stateDiff'],
      )
      const calls = await tracer<Frame>('callTracer')
      const diffs = await tracer<Parameters<typeof balances>[0]>('prestateTracer', { diffMode: true })
      expect(replays.length).toBe(calls.length)
      expect(replays.map(({ trace }) => trace.map(comparable))).toEqual(calls.map((frame) => flattened(frame)))
      for (const [i, { stateDiff, transactionHash }] of replays.entries()) {
        expect(parityBalances(stateDiff), transactionHash).toMatchObject(balances(diffs[i] as Parameters<typeof balances>[0]))
      }
      for (const [i, { transactionHash }] of replays.entries()) {
        const frame = calls[i] as Frame
        expect(await call<OtsCall[]>('ots_traceTransaction', transactionHash), transactionHash).toEqual(otsCalls(frame))
        expect(await call('ots_getInternalOperations', transactionHash), transactionHash).toEqual(operations(frame))
      }
      const [first] = replays
      if (first !== undefined) {
        const hash = first.transactionHash
        const { vmTrace } = await call<{ vmTrace: VmTrace }>('trace_replayTransaction', hash, ['vmTrace'])
        const options = { disableStack: true, disableStorage: true }
        const { structLogs } = await call<{ structLogs: readonly { op: string; error?: string }[] }>(
          'debug_traceTransaction',
          hash,
          options,
        )
        // What is no instruction has no part in a vmTrace.
        const shown = structLogs.filter(
          ({ op, error }) => (error === undefined || error === 'out of gas') && !/^(STOP|INVALID|opcode)/.test(op),
        )
        expect(instructions(vmTrace)).toBe(shown.length)
      }
    } finally {
      expect(await node.stop()).toBe(0)
      fs.rmSync(home, { recursive: true, force: true })
    }
  })
})
