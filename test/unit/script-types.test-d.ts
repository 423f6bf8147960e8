// Types of Hearth in a script: the types of results follow from the arguments. Nothing here runs.
import { describe, expectTypeOf, it } from 'vitest'
import type {
  Account,
  Block,
  CallFrame,
  CallLog,
  DevNode,
  FlatCall,
  HearthNode,
  Hex,
  Log,
  OpcodeTrace,
  ParityReplay,
  Prestate,
  Receipt,
  Rows,
  ScriptContext,
  StateDiff,
  Steps,
  StructLog,
  Traced,
  TracerConfig,
  Transaction,
} from '../../ts/index.ts'
import type { DebugRpcSchema, TraceActions } from '../../ts/script/viem.ts'

declare const node: HearthNode
declare const actions: TraceActions
const hash: Hex = '0x'

describe('reading', () => {
  it('quantities are bigint; hashes, addresses and bytes are what was asked for', () => {
    expectTypeOf(node.blocks()).toEqualTypeOf<Rows<Block<'hex', false>>>()
    expectTypeOf(node.blocks({ form: 'bytes', full: true })).toEqualTypeOf<Rows<Block<'bytes', true>>>()
    expectTypeOf<Block['transactions']>().toEqualTypeOf<readonly Hex[]>()
    expectTypeOf<Block<'hex', true>['transactions']>().toEqualTypeOf<readonly Transaction<'hex'>[]>()
    expectTypeOf<Block['number']>().toEqualTypeOf<bigint>()
    expectTypeOf<Block<'bytes'>['hash']>().toEqualTypeOf<Uint8Array>()
    expectTypeOf(node.receipts()).toEqualTypeOf<Rows<Receipt<'hex'>>>()
    expectTypeOf<Receipt['status']>().toEqualTypeOf<'success' | 'reverted' | undefined>()
    expectTypeOf(node.logs({ form: 'bytes' })).toEqualTypeOf<Rows<Log<'bytes'>>>()
    expectTypeOf<Log['topics']>().toEqualTypeOf<readonly Hex[]>()
  })

  it('one key gives one value, many keys give many', () => {
    const state = node.state(1n)
    expectTypeOf(state.account(hash)).resolves.toEqualTypeOf<Account<'hex'> | undefined>()
    expectTypeOf(state.account([hash])).resolves.toEqualTypeOf<(Account<'hex'> | undefined)[]>()
    expectTypeOf(state.storage(hash, 0n)).resolves.toEqualTypeOf<bigint>()
    expectTypeOf(state.storage(hash, [0n])).resolves.toEqualTypeOf<bigint[]>()
    expectTypeOf(state.code(hash)).resolves.toEqualTypeOf<Hex>()
    expectTypeOf(node.state(1n, { form: 'bytes' }).code(hash)).resolves.toEqualTypeOf<Uint8Array>()
  })

  it('calls', () => {
    expectTypeOf(node.call({})).resolves.toEqualTypeOf<Hex>()
    expectTypeOf(node.call({}, { form: 'bytes' })).resolves.toEqualTypeOf<Uint8Array>()
    // @ts-expect-error: no such member
    void node.call({ too: hash })
  })
})

describe('traces', () => {
  it('the result follows from the tracer', () => {
    expectTypeOf(node.trace(hash, 'prestateTracer')).resolves.toEqualTypeOf<Prestate>()
    expectTypeOf(node.trace(hash, 'flatCallTracer')).resolves.toEqualTypeOf<readonly FlatCall[]>()
    expectTypeOf(node.trace(hash, 'parityTracer')).resolves.toEqualTypeOf<ParityReplay>()
    expectTypeOf(node.trace(hash, 'opcodeTracer')).resolves.toEqualTypeOf<OpcodeTrace>()
    expectTypeOf(node.trace(hash, '4byteTracer')).resolves.toEqualTypeOf<Readonly<Record<string, number>>>()
    expectTypeOf(node.trace(hash, 'structLogs')).toEqualTypeOf<Steps>()
    expectTypeOf<Steps>().toExtend<AsyncIterable<StructLog>>()
    // @ts-expect-error: no such tracer
    void node.trace(hash, 'cellTracer')
  })

  it('and from its options', () => {
    expectTypeOf(node.trace(hash, 'prestateTracer', { config: { diffMode: true } })).resolves.toEqualTypeOf<StateDiff>()
    expectTypeOf(node.trace(hash, 'prestateTracer', { config: { diffMode: false } })).resolves.toEqualTypeOf<Prestate>()
    const withLogs = node.trace(hash, 'callTracer', { config: { withLog: true } })
    expectTypeOf(withLogs).resolves.toHaveProperty('logs')
    expectTypeOf<Awaited<typeof withLogs>['logs']>().toEqualTypeOf<readonly CallLog[] | undefined>()
    expectTypeOf(node.trace(hash, 'callTracer')).resolves.not.toHaveProperty('logs')
    expectTypeOf(node.trace(hash, 'callTracer', { config: { onlyTopCall: true } })).resolves.not.toHaveProperty('calls')
    expectTypeOf<CallFrame['calls']>().toEqualTypeOf<readonly CallFrame[] | undefined>()
    // @ts-expect-error: an option of another tracer
    void node.trace(hash, 'callTracer', { config: { diffMode: true } })
  })

  it('muxTracer has the results of its tracers', () => {
    const both = node.trace(hash, 'muxTracer', { config: { prestateTracer: { diffMode: true }, flatCallTracer: {} } })
    expectTypeOf(both).resolves.toHaveProperty('prestateTracer').toEqualTypeOf<StateDiff>()
    expectTypeOf(both).resolves.toHaveProperty('flatCallTracer').toEqualTypeOf<readonly FlatCall[]>()
  })

  it('a block has a result for each transaction', () => {
    expectTypeOf(node.trace({ block: 1n }, 'prestateTracer')).resolves.toEqualTypeOf<readonly Traced<Prestate>[]>()
    expectTypeOf(node.trace({ block: 1n, index: 0 }, 'prestateTracer')).resolves.toEqualTypeOf<Prestate>()
  })

  it('a result of a block is a result or an error', async () => {
    for (const traced of await node.trace({ block: 1n }, 'callTracer')) {
      // @ts-expect-error: it may have failed
      traced.result.type
      if (traced.error !== undefined) expectTypeOf(traced.result).toEqualTypeOf<undefined>()
      else expectTypeOf(traced.result).toEqualTypeOf<CallFrame>()
    }
  })

  it('development accounts go into calls', () => {
    const account = {} as DevNode['accounts'][number]
    expectTypeOf(account.address).toEqualTypeOf<Hex>()
    expectTypeOf(account.privateKey).toEqualTypeOf<Hex>()
    expectTypeOf(node.call({ from: account.address, to: account.address })).resolves.toEqualTypeOf<Hex>()
  })

  it('functions give what `result` returns', () => {
    const traced = node.trace(hash, {
      step(log) {
        expectTypeOf(log.getPC()).toEqualTypeOf<number>()
      },
      result(context) {
        expectTypeOf(context).toEqualTypeOf<ScriptContext>()
        return new Map([[1, 'one']])
      },
    })
    expectTypeOf(traced).resolves.toEqualTypeOf<Map<number, string>>()
  })

  it('options are those of the tracer', () => {
    expectTypeOf<keyof TracerConfig<'erc7562Tracer'>>().toEqualTypeOf<'withLog' | 'ignoredOpcodes' | 'stackTopItemsSize'>()
  })

  it('clients of viem have them too', () => {
    expectTypeOf(actions.traceTransaction(hash, 'prestateTracer', { config: { diffMode: true } })).resolves.toEqualTypeOf<StateDiff>()
    expectTypeOf(actions.traceBlock(1n, 'flatCallTracer')).resolves.toEqualTypeOf<readonly Traced<readonly FlatCall[]>[]>()
    expectTypeOf<DebugRpcSchema[0]['Method']>().toEqualTypeOf<'debug_traceTransaction'>()
    expectTypeOf<DebugRpcSchema[number]['Method']>().extract<'debug_codeByHash'>().toEqualTypeOf<'debug_codeByHash'>()
  })
})
