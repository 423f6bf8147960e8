// The API of JavaScript tracers, member by member, over a real child process. The expected values
// are the answers of go-ethereum v1.17.0 to the same scripts; where this node deliberately answers
// otherwise, the test says so.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { scriptCommand } from '../../dist/tracer/command.js'
import { FIELD } from '../../ts/tracer/inside/fields.ts'
import { account, type Base, type Child, chunk, code, enter, exit, memory, slot, startChild, stepError, wiped } from './tracer-channel.ts'

const TO = 'cc'.padStart(40, '0')
const FROM = 'aa'.padStart(40, '0')

/** `6001 6002 01 00`: what each instruction of it shows. */
const STEPS = [
  { op: 0x60, pc: 0, gas: 1027576, cost: 3 },
  { op: 0x60, pc: 2, gas: 1027573, cost: 3, push: ['0x01'] },
  { op: 0x01, pc: 4, gas: 1027570, cost: 3, keep: 1, push: ['0x02'] },
  { op: 0x00, pc: 5, gas: 1027567, cost: 0, push: ['0x03'] },
]
const BASE: Base = {
  accounts: { [TO]: { exists: true, balance: '0x64', code: true }, [FROM]: { exists: true, nonce: 1 } },
  codes: { [TO]: '600160020100' },
}
const FRAME = enter(0, { from: FROM, to: TO, value: '0x00' })

describe.skipIf('unavailable' in scriptCommand())('the API of scripts', () => {
  let child: Child
  beforeAll(async () => {
    child = await startChild()
  })
  afterAll(() => child.stop())

  const run = (source: string, more: Partial<Parameters<Child['run']>[0]> = {}) =>
    child.run({
      source,
      base: BASE,
      precompiles: ['0x01', '0x09', '0x0a'].map((a) => `0x${a.slice(2).padStart(40, '0')}`),
      chunks: (fields) => [chunk(fields, STEPS, [FRAME, exit(4)])],
      ...more,
    })
  /** A script whose `result` has this body. */
  const result = (body: string) => run(`{step:function(log,db){},fault:function(){},result:function(ctx,db){${body}}}`)
  /** A script whose `step` has this body; its answer is what `step` put into `this.r`. */
  const step = (body: string, more = {}) =>
    run(`{r:[],step:function(log,db){${body}},fault:function(){},result:function(){return this.r}}`, more)

  describe('log', () => {
    it.each<[member: string, expression: string, atEachStep: unknown[]]>([
      ['getPC', 'log.getPC()', [0, 2, 4, 5]],
      ['getGas', 'log.getGas()', [1027576, 1027573, 1027570, 1027567]],
      ['getCost', 'log.getCost()', [3, 3, 3, 0]],
      ['getDepth', 'log.getDepth()', [1, 1, 1, 1]],
      ['getRefund', 'log.getRefund()', [0, 0, 0, 0]],
      ['getError', 'log.getError()===undefined', [true, true, true, true]],
      ['op.toNumber', 'log.op.toNumber()', [0x60, 0x60, 1, 0]],
      ['op.toString', 'log.op.toString()', ['PUSH1', 'PUSH1', 'ADD', 'STOP']],
      ['op.isPush', 'log.op.isPush()', [true, true, false, false]],
      ['op as text', '""+log.op', ['PUSH1', 'PUSH1', 'ADD', 'STOP']],
      ['stack.length', 'log.stack.length()', [0, 1, 2, 1]],
      ['stack.peek', 'log.stack.length()?log.stack.peek(0):null', [null, '1', '2', '3']],
      ['stack.peek further down', 'log.stack.length()>1?log.stack.peek(1):null', [null, null, '1', null]],
      ['memory.length', 'log.memory.length()', [0, 0, 0, 0]],
      ['memory.slice beyond the end', 'toHex(log.memory.slice(0,3))', ['0x000000', '0x000000', '0x000000', '0x000000']],
      ['contract.getCaller', 'toHex(log.contract.getCaller())', Array(4).fill(`0x${FROM}`)],
      ['contract.getAddress', 'toHex(log.contract.getAddress())', Array(4).fill(`0x${TO}`)],
      ['contract.getValue', 'log.contract.getValue()', ['0', '0', '0', '0']],
      ['contract.getInput', 'toHex(log.contract.getInput())', ['0x', '0x', '0x', '0x']],
      ['one object', '(this.l===undefined||this.l===log)&&!!(this.l=log)', [true, true, true, true]],
      ['functions that stand alone', '(function(f){return f()})(log.op.toString)', ['PUSH1', 'PUSH1', 'ADD', 'STOP']],
      ['members of another name', 'log["get"+"P"+"C"]===log.getPC', [true, true, true, true]],
    ])('%s', async (_, expression, atEachStep) => {
      expect((await step(`this.r.push(${expression})`)).result).toEqual(atEachStep)
    })

    it('has the members of go-ethereum in its order', async () => {
      const keys = '[log,log.op,log.stack,log.memory,log.contract,db].map(function(o){return Object.keys(o).join()})'
      expect((await step(`this.r=${keys}`)).result).toEqual([
        'getPC,getGas,getCost,getDepth,getRefund,getError,op,stack,memory,contract',
        'toNumber,toString,isPush',
        'peek,length',
        'slice,getUint,length',
        'getCaller,getAddress,getValue,getInput',
        'getBalance,getNonce,getCode,getState,exists',
      ])
    })

    it('names opcodes that do not exist', async () => {
      const steps = [{ op: 0x0c }, { op: 0xfe }, { op: 0x44 }, { op: 0x5f }, { op: 0x1e }, { op: 0xef }]
      const { result } = await step('this.r.push(log.op.toString(),log.op.isPush())', {
        chunks: (fields: number) => [chunk(fields, steps, [FRAME, exit(6)])],
      })
      expect(result).toEqual(
        ['opcode 0xc not defined', false, 'INVALID', false, 'DIFFICULTY', false, 'PUSH0', true, 'CLZ', false].concat([
          'opcode 0xef not defined',
          false,
        ]),
      )
    })

    it('shows words of every size as numbers of the library', async () => {
      const words = [
        '0x1fffffffffffff',
        '0x20000000000000',
        `0x${'f'.repeat(64)}`,
        `0x8${'0'.repeat(63)}`,
        '0x0123456789abcdef0123456789abcdef01234567',
        '0x5af3107a4000',
      ]
      const steps = words.map((word) => ({ op: 1, push: [word] }))
      const { result } = await step(
        'var p=log.stack.peek(0);this.r.push([p.toString(10),p.toString(16),p.equals(bigInt(p.toString())),p.isSmall,JSON.stringify(p.value)===JSON.stringify(bigInt(p.toString()).value), p instanceof bigInt])',
        { chunks: (fields: number) => [chunk(fields, steps, [FRAME, exit(words.length)])] },
      )
      expect(result).toEqual(
        words.map((word) => [BigInt(word).toString(), BigInt(word).toString(16), true, BigInt(word) < 2n ** 53n, true, true]),
      )
    })

    it('keeps stacks and memories of callers while a callee runs', async () => {
      const steps = [
        { op: 0x60, push: ['0x11', '0x22', '0x33'], memoryLength: 64 },
        { op: 0xf1, keep: 3, push: ['0x44'], memoryLength: 64 },
        { op: 0x60, depth: 2, push: ['0x99'], memoryLength: 32 },
        { op: 0x00, depth: 2, keep: 0, push: ['0x98', '0x97'], memoryLength: 32 },
        { op: 0x50, keep: 2, push: ['0x01'], memoryLength: 96 },
      ]
      const events = [
        FRAME,
        memory(1, 33, 'aabb'),
        enter(2, { from: TO, to: '0xdd' }),
        memory(3, 0, 'ff'.repeat(32)),
        exit(4),
        memory(4, 90, '0102'),
      ]
      const parts = (fields: number) => [
        chunk(fields, steps.slice(0, 3), events.slice(0, 3), false),
        chunk(fields, steps.slice(3), [...events.slice(3).map((e) => ({ ...e, at: e.at - 3 })), exit(2)], true),
      ]
      const body =
        'var s=[];for(var i=0;i<log.stack.length();i++)s.push(log.stack.peek(i).toString(16));this.r.push([s.join(),log.memory.length(),toHex(log.memory.slice(31,36)),toHex(log.memory.slice(89,93))])'
      expect((await step(body, { chunks: parts })).result).toEqual([
        ['33,22,11', 64, '0x0000000000', '0x00000000'],
        ['44,33,22,11', 64, '0x0000aabb00', '0x00000000'],
        ['99', 32, '0x0000000000', '0x00000000'],
        ['97,98', 32, '0xff00000000', '0x00000000'],
        ['1,22,11', 96, '0x0000aabb00', '0x00010200'],
      ])
    })

    it('memory.getUint', async () => {
      const steps = [{ op: 0x51, memoryLength: 64 }]
      const { result } = await step('this.r.push(log.memory.getUint(1).toString(16),log.memory.getUint("32"))', {
        chunks: (fields: number) => [chunk(fields, steps, [FRAME, memory(0, 0, `${'00'.repeat(31)}ab`), memory(0, 63, '07'), exit(1)])],
      })
      expect(result).toEqual(['ab00', '7'])
    })

    it('getError in steps that fail before they run, and in fault', async () => {
      const source =
        '{r:[],step:function(log){this.r.push(["s",log.getPC(),log.getError()])},fault:function(log){this.r.push(["f",log.getPC(),log.getError()])},result:function(){return this.r}}'
      const fields = (f: number) => [
        chunk(f, STEPS, [
          FRAME,
          stepError(1, 'stack underflow (0 <=> 1)'),
          { at: 3, kind: 3, payload: Buffer.from('out of gas') },
          exit(4),
        ]),
      ]
      expect((await run(source, { chunks: fields })).result).toEqual([
        ['s', 0, null],
        ['s', 2, 'stack underflow (0 <=> 1)'],
        ['s', 4, null],
        ['f', 4, 'out of gas'],
        ['s', 5, null],
      ])
    })

    it('what the text does not show is recorded in a second run', async () => {
      const body = 'var m="get"+"Cost";this.r.push(log[m]())'
      expect(await step(body)).toMatchObject({ needs: 1 << 4 })
      expect((await step(body, { fields: 0b10001 })).result).toEqual([3, 3, 3, 0])
      // A script that catches what it throws does not get away with it.
      expect(await step('try{log["sta"+"ck"].length()}catch(e){}')).toMatchObject({ needs: 1 << 7 })
    })
  })

  describe('messages of go-ethereum', () => {
    const IN_STEP = "    in server-side tracer function 'step'"
    /** Line and column are the engine's own. */
    const placeless = (message: string | undefined) => message?.replace(/<eval>:1:\d+/, '<eval>')

    it('says where', async () => {
      expect((await run('{fault:function(){},\nresult:function(){\n  throw new Error("boo")}}')).failed).toBe(
        `Error: boo at result (<eval>:3:9)${IN_RESULT}`,
      )
    })

    const IN_RESULT = "    in server-side tracer function 'result'"

    it.each<[body: string, message: string]>([
      ['this.r.push(log.stack.peek(5))', 'tracer accessed out of bound stack: size 0, index 5 at step (<eval>)'],
      ['log.stack.peek(-1)', 'tracer accessed out of bound stack: size 0, index -1 at step (<eval>)'],
      ['log.stack.peek(1e300)', 'tracer accessed out of bound stack: size 0, index -9223372036854775808 at step (<eval>)'],
      ['log.memory.slice(5,4)', 'tracer accessed out of bound memory: offset 5, end 4 at step (<eval>)'],
      ['log.memory.slice(-1,-2)', 'tracer accessed out of bound memory: offset -1, end -2 at step (<eval>)'],
      ['log.memory.slice(1e300,2)', 'tracer accessed out of bound memory: offset -9223372036854775808, end 2 at step (<eval>)'],
      ['log.memory.slice(5,1025*1024)', 'reached limit for padding memory slice: 1049600 at step (<eval>)'],
      ['log.memory.getUint(-64)', 'tracer accessed out of bound memory: available 0, offset -64, size 32 at step (<eval>)'],
      ['throw "boo"', 'boo'],
      ['throw new Error("boo")', 'Error: boo at step (<eval>)'],
    ])('step: %s', async (body, message) => {
      expect(placeless((await step(body)).failed)).toBe(message + IN_STEP)
    })

    it.each<[body: string, message: string]>([
      ['return toHex(5)', 'invalid buffer type at result (<eval>)'],
      ['try{toHex("0x12")}catch(e){return "caught"}return "no"', 'invalid buffer type at result (<eval>)'],
      ['return toHex({constructor:Uint8Array})', 'invalid buffer type at result (<eval>)'],
      ['return toHex(new Uint16Array([1]))', 'invalid buffer type at result (<eval>)'],
      ['return slice([1,2,3],1,4)', 'Tracer accessed out of bound memory: available 3, offset 1, size 3 at result (<eval>)'],
      ['return slice([1,2,3],-1,2)', 'Tracer accessed out of bound memory: available 3, offset -1, size 3 at result (<eval>)'],
      ['return db.exists("0xaa")', 'invalid buffer type at result (<eval>)'],
      ['throw "boo"', 'boo'],
      ['throw {a:1}', '[object Object]'],
      ['throw {toString:function(){return "tt"}}', 'tt'],
      ['throw null', 'null'],
      ['throw undefined', 'undefined'],
      ['throw 5', '5'],
      ['throw new TypeError("x")', 'TypeError: x at result (<eval>)'],
    ])('result: %s', async (body, message) => {
      expect(placeless((await result(body)).failed)).toBe(message + IN_RESULT)
    })

    it.each<[what: string, source: string, message: string]>([
      ['no result', '{fault:function(){}}', 'trace object must expose a function result()'],
      ['no fault', '{result:function(){}}', 'trace object must expose a function fault()'],
      ['a number', '5', 'trace object must expose a function result()'],
      [
        'enter alone',
        '{enter:function(){},fault:function(){},result:function(){}}',
        'trace object must expose either both or none of enter() and exit()',
      ],
      ['a throw while it is loaded', '(function(){throw new Error("l")})()', 'Error: l at <eval>'],
      ['an interrupt while it is loaded', '{a:toHex(5)}', 'invalid buffer type at <eval>'],
      ['a throw in setup', '{setup:function(){throw "boo"},fault:function(){},result:function(){}}', 'boo'],
    ])('%s', async (_, source, message) => {
      expect(placeless((await run(source)).failed)).toBe(message)
    })

    it('a text that is no JavaScript', async () => {
      expect((await run('{')).failed).toMatch(/^SyntaxError: /)
      expect((await run('{result:function(){},fault:function(){}}//x')).failed).toMatch(/^SyntaxError: /)
    })
  })

  describe('globals', () => {
    it.each<[expression: string, value: unknown]>([
      ['toHex([1,2,300,-1,1.5,"7",null,undefined])', '0x01022cff01070000'],
      ['toHex(new Uint8Array([1,2]).subarray(1))', '0x02'],
      ['toHex(toWord("0xzz"))', `0x${'00'.repeat(32)}`],
      ['toHex(toWord("123"))', `0x${'00'.repeat(30)}0123`],
      ['toHex(toWord("0xffaa")).slice(-6)', '00ffaa'],
      ['toHex(toAddress("0x1g34"))', `0x${'00'.repeat(20)}`],
      ['toHex(toAddress("0x00112233445566778899aabbccddeeff0011223344556677"))', '0x445566778899aabbccddeeff0011223344556677'],
      ['toHex(toAddress(new String("0xab")))', `0x${'00'.repeat(19)}ab`],
      ['toHex(toAddress(log.contract.getAddress()))', `0x${TO}`],
      ['toHex(slice([1,2,3],1,3))', '0x0203'],
      ['toHex(slice([1,2,3],"1",2.9))', '0x02'],
      ['slice([1,2,3]).length', 0],
      ['isPrecompiled("0x01")', true],
      ['isPrecompiled(toAddress("0x0a"))', true],
      ['isPrecompiled([9])', true],
      ['isPrecompiled("0x0b")', false],
      ['bigInt("123456789012345678901234567890").multiply(2).toString()', '246913578024691357802469135780'],
      ['bigInt("ff",16).toJSNumber()', 255],
      ['typeof bigInt(5).value', 'number'],
      ['log.contract.getAddress() instanceof Uint8Array', true],
      ['Object.prototype.toString.call(log.contract.getAddress())', '[object Uint8Array]'],
      ['log.contract.getAddress()===log.contract.getAddress()', false],
    ])('%s', async (expression, value) => {
      expect((await step(`this.r=[${expression}]`)).result).toEqual([value])
    })

    it('toContract and toContract2', async () => {
      const made = await result(
        'return [toContract("0x00000000000000000000000000000000000000aa", 0),toContract("0xaa", 128),toContract("0xaa"),toContract("0xaa",1.9),toContract("0xaa",-1),toContract("0x6ac7ea33f8831ea9dcc53393aaa88b25a785dbf0",0),toContract("0x6ac7ea33f8831ea9dcc53393aaa88b25a785dbf0",1),toContract2("0x00","0x00","0x00"),toContract2("0xdeadbeef00000000000000000000000000000000","0x00","0x00"),toContract2("0x00000000000000000000000000000000deadbeef","0xcafebabe","0xdeadbeef"),toContract2("0x00","0x00",[])].map(toHex)',
      )
      // The two of the account 0x6ac7… and those of EIP-1014 stand in the specifications.
      expect(made.result).toEqual([
        ...(made.result as string[]).slice(0, 5),
        '0xcd234a471b72ba2f1ccf0a70fcaba648a5eecd8d',
        '0x343c43a37d37dff08ae8c4a11544c718abb4fcf8',
        '0x4d1a2e2bb4f88f0250f26ffff098b0b30b26bf38',
        '0xb928f69bb1d91cd65274e3c79d8986362984fda3',
        '0x60f3f640a8508fc6a86d45df051962668e1e8ac7',
        '0xe33c0c7f7df4809055c3eba6c09cfe4baf1bd9e0',
      ])
      expect(new Set((made.result as string[]).slice(0, 5)).size).toBe(4)
      expect((made.result as string[])[0]).toBe((made.result as string[])[2])
    })

    it('isPrecompiled knows the fork once a transaction began', async () => {
      const source =
        '{p:isPrecompiled([1]),setup:function(){this.s=isPrecompiled([1])},fault:function(){},result:function(){return [this.p,this.s,isPrecompiled([1])]}}'
      expect((await run(source)).result).toEqual([false, false, true])
    })

    it('what is there and what is not', async () => {
      const names = ['WebAssembly', 'SharedArrayBuffer', 'Atomics', 'Intl', 'console', 'setTimeout', 'queueMicrotask', 'require', 'process']
      const source = `{g:this,fault:function(){},result:function(){var e=[];for(var k in this.g)e.push(k);return [e.sort(),${names.map((n) => `typeof ${n}`).join()},typeof Promise,typeof Proxy,typeof Reflect,typeof Symbol,typeof globalThis]}}`
      expect((await run(source)).result).toEqual([
        ['bigInt', 'isPrecompiled', 'slice', 'toAddress', 'toContract', 'toContract2', 'toHex', 'toWord'],
        ...names.map(() => 'undefined'),
        'function',
        'function',
        'object',
        'function',
        'object',
      ])
    })
  })

  describe('db', () => {
    it('reads what stood before the transaction, each thing once', async () => {
      const body =
        'this.r=[db.exists([0xcc]),db.exists([0xdd]),db.getBalance([0xcc]),db.getNonce([0xaa]),toHex(db.getCode([0xcc])),toHex(db.getState([0xcc],[1])),toHex(db.getCode([0xdd])),toHex(db.getState(log.contract.getAddress(),toWord("0x02")))]'
      const { result, reads } = await step(body, {
        base: { ...BASE, slots: { [`${TO}:${'02'.padStart(64, '0')}`]: '0x77' } },
      })
      expect(result).toEqual([true, false, '100', 1, '0x600160020100', `0x${'00'.repeat(32)}`, '0x', `0x${'77'.padStart(64, '0')}`])
      // Three accounts, two slots, one code; four steps read the same again.
      expect(reads).toBe(6)
    })

    it('shows changes per step, and reverts those of failed frames', async () => {
      const events = [
        account(0, FROM, { exists: true, nonce: 2, balance: '0x10' }),
        FRAME,
        slot(1, TO, '0x01', '0x05'),
        enter(2, { from: TO, to: '0xdd', shown: true }),
        account(2, '0xdd', { exists: true, balance: '0x09', code: true }),
        code(2, '0xdd', 'fe'),
        slot(2, TO, '0x01', '0x06'),
        wiped(3, TO),
        exit(4, { shown: true, failed: true, error: 'execution reverted' }),
      ]
      const look =
        '[db.getNonce([0xaa]),db.getBalance([0xaa]).toString(),db.exists([0xdd]),toHex(db.getCode([0xdd])),toHex(db.getState([0xcc],[1])).slice(-2),toHex(db.getState([0xcc],[2])).slice(-2)].join()'
      const source = `{r:[],d:null,step:function(log,db){this.d=db;this.r.push(${look})},fault:function(){},enter:function(){},exit:function(f){var db=this.d;this.r.push(${look})},result:function(ctx,db){this.r.push(${look});return this.r}}`
      const { result } = await run(source, {
        base: { ...BASE, slots: { [`${TO}:${'02'.padStart(64, '0')}`]: '0x44' } },
        chunks: (fields) => [chunk(fields, STEPS, [...events, exit(4)])],
      })
      expect(result).toEqual([
        '2,16,false,0x,00,44',
        '2,16,false,0x,05,44',
        '2,16,true,0xfe,06,44',
        '2,16,true,0xfe,00,00',
        '2,16,false,0x,05,44',
        '2,16,false,0x,05,44',
      ])
    })

    it('a read that fails ends the script with what the core says', async () => {
      const { failed } = await step('db.getCode([0xcc])', { base: { accounts: BASE.accounts ?? {} } })
      expect(failed).toMatch(/^no such code at step .*function 'step'$/)
    })
  })

  describe('frames', () => {
    it('enter and exit', async () => {
      const source =
        '{r:[],step:function(){},fault:function(){},enter:function(f){var v=f.getValue();this.r.push([f.getType(),toHex(f.getFrom()),toHex(f.getTo()),toHex(f.getInput()),f.getGas(),v===undefined?"none":v.toString()])},exit:function(r){this.r.push([r.getGasUsed(),toHex(r.getOutput()),r.getError()===undefined?"none":r.getError()])},result:function(){return this.r}}'
      const events = [
        FRAME,
        enter(1, { type: 0xf4, from: TO, to: '0xdd', input: '0xabcd', gas: 77, shown: true }),
        exit(1, { shown: true, gasUsed: 5, output: '0x01' }),
        enter(2, { type: 0xff, from: TO, to: FROM, value: '0x64', shown: true }),
        exit(2, { shown: true, failed: true, error: 'out of gas — é', gasUsed: 9 }),
        exit(4),
      ]
      const { result } = await run(source, { chunks: (fields) => [chunk(fields, STEPS, events)] })
      expect(result).toEqual([
        ['DELEGATECALL', `0x${TO}`, `0x${'dd'.padStart(40, '0')}`, '0xabcd', 77, 'none'],
        [5, '0x01', 'none'],
        ['SELFDESTRUCT', `0x${TO}`, `0x${FROM}`, '0x', 0, '100'],
        [9, '0x', 'out of gas — é'],
      ])
    })

    it('code that makes a contract has no input', async () => {
      const { result } = await step('this.r.push(toHex(log.contract.getInput()))', {
        chunks: (fields: number) => [chunk(fields, STEPS, [enter(0, { type: 0xf0, input: '0x600160020100' }), exit(4)])],
      })
      expect(result).toEqual(['0x', '0x', '0x', '0x'])
    })
  })

  describe('ctx and setup', () => {
    it('ctx', async () => {
      const ctx = {
        type: 'CREATE',
        from: `0x${FROM}`,
        to: `0x${TO}`,
        input: '0x6001',
        gas: 5,
        gasUsed: 4,
        gasPrice: '123456789012345678901234567890',
        value: '7',
        output: '0x02',
        block: 9,
        coinbase: `0x${'11'.repeat(20)}`,
        error: 'execution reverted',
        blockHash: `0x${'22'.repeat(32)}`,
        txHash: `0x${'33'.repeat(32)}`,
        txIndex: 3,
      }
      const source =
        '{fault:function(){},result:function(c){return [c.type,toHex(c.from),toHex(c.to),toHex(c.input),c.gas,c.gasUsed,c.gasPrice,c.value.plus(1),toHex(c.output),c.block,toHex(c.coinbase),c.error,toHex(c.blockHash),toHex(c.txHash),c.txIndex,Object.keys(c).length,c.missing]}}'
      expect((await run(source, { ctx })).result).toEqual([
        'CREATE',
        ctx.from,
        ctx.to,
        '0x6001',
        5,
        4,
        ctx.gasPrice,
        '8',
        '0x02',
        9,
        ctx.coinbase,
        ctx.error,
        ctx.blockHash,
        ctx.txHash,
        3,
        15,
        null,
      ])
    })

    it('setup gets the configuration as text', async () => {
      const source = '{setup:function(cfg){this.c=cfg},fault:function(){},result:function(){return [this.c,typeof this.c]}}'
      expect((await run(source)).result).toEqual(['{}', 'string'])
      expect((await run(source, { config: '{"a":[1, 2]}' })).result).toEqual(['{"a":[1, 2]}', 'string'])
    })

    it.each([
      ['Promise.reject(1);return 5', '', 5],
      ['return (async function(){throw new Error("x")})() instanceof Promise', '', true],
      ['return this.n', 'var t=this;(async function(){t.n++;throw "x"})()', 4],
    ])('a rejected promise without a handler has no effect: %s, %s', async (result, step, expected) => {
      const source = `{n:0,step:function(log){${step}},fault:function(){},result:function(){${result}}}`
      expect((await run(source)).result).toBe(expected)
    })

    it('an async function gets what was not recorded', async () => {
      const step = 'var t=this,k="get"+"PC";(async function(){t.n+=log[k]()})()'
      const source = `{n:0,step:function(log){${step}},fault:function(){},result:function(){return this.n}}`
      const { needs } = await run(source)
      expect(needs).toBe(FIELD.pc)
      expect((await run(source, { fields: FIELD.step | FIELD.pc })).result).toBe(11)
    })

    it('promises are settled before result', async () => {
      const source =
        '{n:0,step:function(){var t=this;Promise.resolve().then(function(){t.n++})},fault:function(){},result:function(){return this.n}}'
      expect((await run(source)).result).toBe(4)
    })
  })

  describe('the answer is encoded as Go would', () => {
    it.each<[value: string, json: string]>([
      ['5', '5'],
      ['1.5', '1.5'],
      ['1e21', '1e+21'],
      ['1e-7', '1e-7'],
      ['-0', '-0'],
      ['true', 'true'],
      ['undefined', '{}'],
      ['function(){}', 'null'],
      ['Symbol("x")', '{}'],
      [
        '{a:"<é>\\u2028\\u0001\\u007f",b:undefined,c:function(){},d:NaN,e:null,f:-0}',
        '{"a":"\\u003cé\\u003e\\u2028\\u0001\u007f","d":null,"e":null,"f":0}',
      ],
      ['[undefined,function(){},null,1e21,new Date(0)]', '[null,null,null,1e+21,"1970-01-01T00:00:00.000Z"]'],
      ['bigInt("123456789012345678901234567890")', '"123456789012345678901234567890"'],
      ['{v:bigInt(5)}', '{"v":"5"}'],
      ['new Uint8Array([1,2,3])', '{"0":1,"1":2,"2":3}'],
      ['new String("abc")', '"abc"'],
      ['new Number(5)', '5'],
      // go-ethereum answers these three with {}, [65279,...] and {}: an accident of its engine
      // without use.
      ['null', 'null'],
      ['"é&"', '"é\\u0026"'],
      ['toHex([1,2,3,4,5,6,7,8,9,10])', '"0x0102030405060708090a"'],
    ])('%s', async (value, json) => {
      expect(await result(`return ${value}`)).toMatchObject({ json })
    })

    it.each<[body: string, message: RegExp]>([
      ['return NaN', /^json: unsupported value: NaN$/],
      ['return 1/0', /^json: unsupported value: \+Inf$/],
      [
        'var a={};a.a=a;return a',
        /^json: error calling MarshalJSON for type \*goja\.Object: TypeError: Converting circular structure to JSON$/,
      ],
      ['return {toJSON:function(){throw "boo"}}', /^json: error calling MarshalJSON for type \*goja\.Object: boo$/],
      ['return {get x(){throw new Error("boo")}}', /^json: error calling MarshalJSON for type \*goja\.Object: Error: boo at x /],
    ])('%s', async (body, message) => {
      expect((await result(body)).failed).toMatch(message)
    })
  })
})
