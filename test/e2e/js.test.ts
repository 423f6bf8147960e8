// JavaScript tracers over JSON-RPC by value: the answer of each script, compared with built-in
// tracers, receipts and state of the same transaction.
import fs from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FIXTURES, fixtures } from '../conformance/fixtures.ts'
import { hearth, type RunningNode, startNode, tempHome } from './harness.ts'
import { call, NO_SCRIPTS, resultOf, stepOf, traceCode } from './js-node.ts'
import { FULL } from './peer.ts'

/** A block with calls of every kind, failures and logs. */
const BLOCK = '13287210'

/**
 * A block of which every transaction gets a script that changes its realm, so that the next one
 * needs another: 49 of them, and in the full run those of the block above.
 */
const TAMPERED_BLOCK = FULL ? BLOCK : '1796867'

/** Transactions of the first one that are looked at one by one. */
const SAMPLES = 12

interface StructLog {
  readonly pc: number
  readonly op: string
  readonly gas: number
  readonly gasCost: number
  readonly depth: number
  readonly stack: readonly string[]
  readonly memory?: readonly string[]
  readonly refund?: number
  readonly error?: string
}

interface CallFrame {
  readonly type: string
  readonly from: string
  readonly to?: string
  readonly gas: string
  readonly gasUsed: string
  readonly input: string
  readonly output?: string
  readonly value?: string
  readonly error?: string
  readonly calls?: readonly CallFrame[]
}

interface Transaction {
  readonly hash: string
  readonly from: string
  readonly to: string | null
  readonly input: string
  readonly value: string
  readonly gas: string
  readonly nonce: string
}

/** A node over a recorded block. */
async function startCase(home: string, block: string): Promise<RunningNode> {
  const { status, stderr } = hearth(['import', '--home', home, '--case', path.join(FIXTURES, `mainnet-blocks/${block}.json.gz`)])
  if (status !== 0) throw new Error(stderr)
  return await startNode(['start', '--home', home])
}

describe.skipIf(NO_SCRIPTS || !fixtures('mainnet-blocks'))('scripts over a recorded block', () => {
  const home = tempHome()
  let node: RunningNode
  let block: { hash: string; number: string; miner: string; transactions: Transaction[] }
  let sampled: { tx: Transaction; logs: readonly StructLog[] }[]

  const ask = async (method: string, ...params: unknown[]): Promise<unknown> => {
    const { result, error } = await call(node.url, method, params)
    if (error !== undefined) throw new Error(`${method}: ${error.message}`)
    return result
  }
  const trace = (hash: string, tracer: string, more: object = {}) =>
    ask('debug_traceTransaction', hash, { tracer, timeout: '60s', ...more })

  beforeAll(async () => {
    node = await startCase(home, BLOCK)
    block = (await ask('eth_getBlockByNumber', 'latest', true)) as typeof block
    sampled = []
    const every = Math.ceil(block.transactions.length / SAMPLES)
    for (let i = 0; i < block.transactions.length; i += every) {
      const tx = block.transactions[i] as Transaction
      const { structLogs } = (await ask('debug_traceTransaction', tx.hash, { enableMemory: true })) as { structLogs: StructLog[] }
      sampled.push({ tx, logs: structLogs })
    }
    expect(sampled.some(({ logs }) => logs.length > 1000)).toBe(true)
  })
  afterAll(async () => {
    expect(await node.stop()).toBe(0)
    fs.rmSync(home, { recursive: true, force: true })
  })

  /** Checks a script on every sampled transaction against a value made from the struct logs. */
  const agrees = async (tracer: string, expected: (logs: readonly StructLog[]) => unknown): Promise<void> => {
    for (const { tx, logs } of sampled) expect(await trace(tx.hash, tracer), tx.hash).toEqual(expected(logs))
  }

  it('the example of the specification: count and gas per opcode', async () => {
    const source =
      '{gasStats:{},step:function(log,db){var op=log.op.toString();var cost=log.getCost();if(!this.gasStats[op]){this.gasStats[op]={count:0,totalGas:0}}this.gasStats[op].count++;this.gasStats[op].totalGas+=cost},fault:function(log,db){},result:function(ctx,db){return this.gasStats}}'
    await agrees(source, (logs) => {
      const stats: Record<string, { count: number; totalGas: number }> = {}
      for (const { op, gasCost } of logs) {
        stats[op] ??= { count: 0, totalGas: 0 }
        stats[op].count++
        stats[op].totalGas += gasCost
      }
      return stats
    })
  })

  it('pc, gas, depth and refund of each step', () =>
    agrees(stepOf('this.r.push([log.getPC(),log.getGas(),log.getDepth(),log.getRefund()])'), (logs) =>
      logs.map(({ pc, gas, depth, refund }) => [pc, gas, depth, refund ?? 0]),
    ))

  it('the whole stack of each step', () =>
    agrees(stepOf('var s=[];for(var i=log.stack.length()-1;i>=0;i--)s.push("0x"+log.stack.peek(i).toString(16));this.r.push(s)'), (logs) =>
      logs.map(({ stack }) => stack),
    ))

  it('the memory of each step that hashes or calls', () => {
    const wanted = ['KECCAK256', 'CALL', 'STATICCALL', 'DELEGATECALL', 'RETURN', 'REVERT', 'LOG1', 'LOG3']
    const body = `if(${JSON.stringify(wanted)}.indexOf(log.op.toString())>=0)this.r.push(toHex(log.memory.slice(0,log.memory.length())))`
    return agrees(stepOf(body), (logs) =>
      logs.filter(({ op }) => wanted.includes(op)).map(({ memory = [] }) => `0x${memory.map((word) => word.replace(/^0x/, '')).join('')}`),
    )
  })

  it('jumps with the instruction before them', () =>
    agrees(
      '{r:[],last:null,step:function(log){if(log.op.toString()=="JUMPDEST"&&this.last!==null)this.r.push(this.last+">"+log.getPC());this.last=log.op.isPush()?"push":log.op.toNumber()},fault:function(){},result:function(){return this.r}}',
      (logs) =>
        logs.flatMap(({ op, pc }, i) => {
          const before = logs[i - 1]
          if (op !== 'JUMPDEST' || before === undefined) return []
          const code = /^PUSH/.test(before.op) ? 'push' : OPCODES[before.op]
          return [code === undefined ? expect.stringMatching(new RegExp(`^\\d+>${pc}$`)) : `${code}>${pc}`]
        }),
    ))

  it('storage writes with the slot before them', async () => {
    const source = stepOf(
      'if(log.op.toString()=="SSTORE"){var k=toWord(log.stack.peek(0).toString(16));this.r.push([toHex(log.contract.getAddress()),toHex(k),toHex(db.getState(log.contract.getAddress(),k)),log.stack.peek(1).toString(16)])}',
    )
    for (const { tx, logs } of sampled) {
      const writes = (await trace(tx.hash, source)) as [string, string, string, string][]
      const stores = logs.filter(({ op }) => op === 'SSTORE')
      expect(writes.map(([, key, , value]) => [BigInt(key), BigInt(`0x${value}`)])).toEqual(
        stores.map(({ stack }) => [BigInt(stack.at(-1) as string), BigInt(stack.at(-2) as string)]),
      )
      // If a slot is written twice, the second write sees the value of the first, unless a frame
      // between them failed.
      const prestate = (await ask('debug_traceTransaction', tx.hash, { tracer: 'prestateTracer' })) as Record<
        string,
        { storage?: Record<string, string> }
      >
      const seen = new Set<string>()
      for (const [address, key, before] of writes) {
        if (seen.has(address + key)) continue
        seen.add(address + key)
        expect(before).toBe(prestate[address]?.storage?.[key] ?? `0x${'0'.repeat(64)}`)
      }
    }
  })

  it('the tree of calls from enter and exit', async () => {
    const source =
      '{top:{calls:[]},path:null,step:function(){},fault:function(){},enter:function(f){if(!this.path)this.path=[this.top];var v=f.getValue();var c={type:f.getType(),from:toHex(f.getFrom()),to:toHex(f.getTo()),input:toHex(f.getInput()),gas:"0x"+f.getGas().toString(16),calls:[]};if(v!==undefined)c.value="0x"+v.toString(16);this.path[this.path.length-1].calls.push(c);this.path.push(c)},exit:function(r){var c=this.path.pop();c.gasUsed="0x"+r.getGasUsed().toString(16);c.output=toHex(r.getOutput());if(r.getError()!==undefined)c.error=r.getError()},result:function(ctx){return this.top.calls}}'
    const plain = (frame: CallFrame): unknown => ({
      type: frame.type,
      from: frame.from,
      to: frame.to ?? expect.any(String),
      input: frame.input,
      gas: frame.gas,
      gasUsed: frame.gasUsed,
      output: frame.output ?? expect.any(String),
      ...(frame.value === undefined ? {} : { value: frame.value }),
      ...(frame.error === undefined ? {} : { error: frame.error }),
      calls: (frame.calls ?? []).map(plain),
    })
    for (const { tx } of sampled) {
      const native = (await trace(tx.hash, 'callTracer')) as CallFrame
      expect(await trace(tx.hash, source), tx.hash).toEqual((native.calls ?? []).map(plain))
    }
  })

  it('everything of ctx', async () => {
    const source = resultOf(
      'return {type:ctx.type,from:toHex(ctx.from),to:toHex(ctx.to),input:toHex(ctx.input),gas:ctx.gas,gasUsed:ctx.gasUsed,value:"0x"+ctx.value.toString(16),block:ctx.block,coinbase:toHex(ctx.coinbase),blockHash:toHex(ctx.blockHash),txHash:toHex(ctx.txHash),txIndex:ctx.txIndex,output:toHex(ctx.output),error:ctx.error===undefined?null:ctx.error}',
    )
    for (const { tx } of sampled) {
      const receipt = (await ask('eth_getTransactionReceipt', tx.hash)) as {
        gasUsed: string
        contractAddress: string | null
        transactionIndex: string
      }
      const top = (await trace(tx.hash, 'callTracer')) as CallFrame
      expect(await trace(tx.hash, source), tx.hash).toEqual({
        type: tx.to === null ? 'CREATE' : 'CALL',
        from: tx.from,
        to: tx.to ?? receipt.contractAddress ?? expect.any(String),
        input: tx.input,
        gas: Number(tx.gas),
        gasUsed: Number(receipt.gasUsed),
        value: tx.value,
        block: Number(block.number),
        coinbase: block.miner,
        blockHash: block.hash,
        txHash: tx.hash,
        txIndex: Number(receipt.transactionIndex),
        output: top.output ?? '0x',
        error: top.error ?? null,
      })
    }
  })

  it('nonce and balance as of the first step and of result', async () => {
    const source =
      '{first:null,step:function(log,db){if(this.first===null)this.first=[db]},fault:function(){},result:function(ctx,db){return [db.getNonce(ctx.from),"0x"+db.getBalance(ctx.from).toString(16),db.exists(ctx.from),toHex(db.getCode(ctx.to))]}}'
    const { tx } = sampled.at(-1) as (typeof sampled)[number]
    const diff = (await trace(tx.hash, 'prestateTracer', { tracerConfig: { diffMode: true } })) as {
      post: Record<string, { balance: string }>
    }
    const [nonce, balance, exists, code] = (await trace(tx.hash, source)) as unknown[]
    expect([nonce, balance, exists]).toEqual([Number(tx.nonce) + 1, diff.post[tx.from]?.balance, true])
    expect(code).toBe(tx.to === null ? code : await ask('eth_getCode', tx.to, 'latest'))
  })

  it('faults with what they say', async () => {
    const source =
      '{r:[],step:function(log){if(log.getError()!==undefined)this.r.push(["step",log.op.toString(),log.getError()])},fault:function(log){this.r.push(["fault",log.op.toString(),log.getError()])},result:function(){return this.r}}'
    for (const { tx, logs } of sampled) {
      const faults = (await trace(tx.hash, source)) as string[][]
      const failing = logs.filter(({ op, error }) => op === 'REVERT' || error !== undefined)
      expect(faults.map(([, op]) => op).sort()).toEqual(failing.map(({ op }) => op).sort())
    }
    // The message of each kind of failure, and whether the instruction was shown before, as
    // go-ethereum answers.
    const failures: [code: string, gas: string, seen: unknown][] = [
      ['0x60006000fd', '0x100000', ['fault', 'REVERT', 'execution reverted']],
      ['0xfe', '0x100000', ['fault', 'INVALID', 'invalid opcode: INVALID']],
      ['0x600101', '0x100000', ['step', 'ADD', 'stack underflow (1 <=> 2)']],
      ['0x0c', '0x100000', ['fault', 'opcode 0xc not defined', 'invalid opcode: opcode 0xc not defined']],
      ['0x600056', '0x100000', ['fault', 'JUMP', 'invalid jump destination']],
      ['0x5b600056', '0x5300', ['step', 'JUMP', 'out of gas']],
      ['0x600063ffffffff52', '0x100000', ['step', 'MSTORE', 'out of gas']],
    ]
    for (const [code, gas, seen] of failures) {
      expect((await traceCode(node.url, source, { code, gas })).result, code).toEqual([seen])
    }
  })

  it('scripts by name say what the same script says as text', async () => {
    for (const { tx, logs } of sampled) {
      expect(await trace(tx.hash, 'opcountTracer')).toBe(logs.length)
      expect(await trace(tx.hash, 'noopTracerLegacy')).toEqual({})
      const pairs: Record<string, number> = {}
      let [before, depth] = ['', 0]
      for (const step of logs) {
        const key = `${before}-${step.op}`
        if (step.depth === depth) pairs[key] = (pairs[key] ?? 0) + 1
        ;[before, depth] = [step.op, step.depth]
      }
      expect(await trace(tx.hash, 'bigramTracer')).toEqual(pairs)
    }
  })

  it('a whole block says what its transactions say one by one', async () => {
    const source = '{n:0,step:function(){this.n++},fault:function(){},result:function(ctx){return [ctx.txIndex,this.n]}}'
    const whole = (await ask('debug_traceBlockByNumber', block.number, { tracer: source, timeout: '60s' })) as {
      txHash: string
      result: unknown
    }[]
    expect(whole.map(({ txHash }) => txHash)).toEqual(block.transactions.map(({ hash }) => hash))
    for (const { tx, logs } of sampled) {
      const i = block.transactions.indexOf(tx)
      expect(whole[i]?.result).toEqual([i, logs.length])
    }
    const byHash = await ask('debug_traceBlockByHash', block.hash, { tracer: source, timeout: '60s' })
    expect(byHash).toEqual(whole)
  })

  it('within muxTracer, beside a built-in one', async () => {
    const { tx, logs } = sampled[1] as (typeof sampled)[number]
    const both = (await trace(tx.hash, 'muxTracer', { tracerConfig: { callTracer: null, opcountTracer: null } })) as Record<string, unknown>
    expect(both.callTracer).toEqual(await trace(tx.hash, 'callTracer'))
    expect(both.opcountTracer).toBe(logs.length)
  })

  it('calls, and many of them', async () => {
    const { tx } = sampled.find(({ tx, logs }) => tx.to !== null && logs.length > 100) as (typeof sampled)[number]
    const request = { from: tx.from, to: tx.to, gas: '0x100000', input: tx.input }
    const tracer =
      '{n:0,c:"",setup:function(c){this.c=c},step:function(){this.n++},fault:function(){},result:function(ctx){return [this.n,this.c,ctx.txHash===undefined]}}'
    const { structLogs } = (await ask('debug_traceCall', request, 'latest', {})) as { structLogs: StructLog[] }
    const config = { tracer, tracerConfig: { a: 1 } }
    const expected = [structLogs.length, '{"a":1}', true]
    expect(await ask('debug_traceCall', request, 'latest', config)).toEqual(expected)
    const many = await ask('debug_traceCallMany', [{ transactions: [request, request] }], { blockNumber: 'latest' }, config)
    expect((many as unknown[][])[0]?.[0]).toEqual(expected)
    expect((many as unknown[][])[0]).toHaveLength(2)
  })

  it('nothing of a transaction is visible to the next', async () => {
    const tamper =
      'var before=[typeof leak,[].extra,({}).trap,JSON.stringify([1]),toHex([1]),typeof bigInt.extra].join();leak=1;Array.prototype.extra=1;Object.defineProperty(Object.prototype,"trap",{get:function(){return 2},configurable:true});JSON.stringify=function(){return "no"};toHex=function(){return "no"};bigInt.extra=1;this.kept=(this.kept||0)+1;return [before,this.kept]'
    const clean = ['undefined,,,[1],0x01,undefined', 1]
    const other = await startCase(tempHome(), TAMPERED_BLOCK)
    const traced = await call(other.url, 'debug_traceBlockByNumber', ['latest', { tracer: resultOf(tamper), timeout: '60s' }])
    expect(await other.stop()).toBe(0)
    expect(traced.error).toBeUndefined()
    const whole = traced.result as { result: unknown }[]
    expect(whole.length).toBeGreaterThan(40)
    for (const { result } of whole) expect(result).toEqual(clean)
    const { tx } = sampled[0] as (typeof sampled)[number]
    for (let i = 0; i < 3; i++) expect(await trace(tx.hash, resultOf(tamper))).toEqual(clean)
  })
})

const OPCODES: Readonly<Record<string, number>> = {
  JUMP: 0x56,
  JUMPI: 0x57,
  POP: 0x50,
  ADD: 0x01,
  ISZERO: 0x15,
  JUMPDEST: 0x5b,
  DUP1: 0x80,
  SWAP1: 0x90,
}
