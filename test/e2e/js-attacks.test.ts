// Hostile scripts. Each may only hurt its own request: the node answers, the next script runs, no
// process is left.
import fs from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RunningNode, startNode, tempHome } from './harness.ts'
import { call, LOOP, NO_SCRIPTS, type Reply, resultOf, stepOf, traceCode } from './js-node.ts'
import { sleep, until } from './waiting.ts'

/** Time limit of an attack that the clock alone ends, in milliseconds. */
const CLOCK_MS = 500
/** That of one which its memory may end before, in milliseconds. */
const MEMORY_MS = 1500
/** That of one which ends by itself, on a busy machine too, in milliseconds. */
const SELF_MS = 60_000
/** How much longer an answer may take on a busy machine: an attack without a limit never ends. */
const GRACE_MS = 60_000

/** What a script says of its end when the clock ended it. */
const TIMEOUT = /execution timeout/
/** What it says where its memory or its process was taken away. */
const KILLED = /memory|ended|execution timeout|RangeError/

/** The time limit of an attack that must end so, in milliseconds. */
const limitOf = (outcome: Attack[2]): number => (outcome === TIMEOUT ? CLOCK_MS : outcome === KILLED ? MEMORY_MS : SELF_MS)

type Attack = readonly [name: string, tracer: string, outcome: RegExp | { readonly result: unknown }]

const ATTACKS: readonly Attack[] = [
  ['an endless loop', stepOf('for(;;){}'), TIMEOUT],
  ['an endless loop while it is loaded', '(function(){for(;;){}})()', TIMEOUT],
  ['an endless loop that catches everything', stepOf('for(;;){try{toHex(5);for(;;){}}catch(e){}}'), TIMEOUT],
  ['an endless promise', resultOf('(function f(){Promise.resolve().then(f)})();return 1'), TIMEOUT],
  ['an endless getter of the answer', resultOf('return {get x(){for(;;){}}}'), TIMEOUT],
  ['a regular expression that explodes', stepOf('/^(a+)+$/.test("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!")'), TIMEOUT],
  ['BigInt squaring', stepOf('var x=3n;for(;;)x*=x'), KILLED],
  ['squaring in the library', stepOf('var x=bigInt(3);for(;;)x=x.square()'), KILLED],
  ['an array that grows', stepOf('var a=[];for(;;)a.push(new Array(1000).fill(1))'), KILLED],
  ['text that grows', stepOf('var s="x";for(;;)s=(s+s).slice(1)+Math.random()'), KILLED],
  ['typed arrays that grow', stepOf('var a=[];for(;;)a.push(new Uint8Array(1e6).fill(1))'), KILLED],
  ['one huge array', stepOf('this.r=new Array(Math.pow(2,26)).fill(0);this.r=this.r.length'), KILLED],
  ['an 8 GB buffer', stepOf('new ArrayBuffer(8*1024*1024*1024)'), /RangeError: Array buffer allocation failed/],
  ['deep recursion', stepOf('(function f(){return f()+1})()'), /RangeError: Maximum call stack size exceeded/],
  [
    'an answer 100000 deep',
    resultOf('var a=[];for(var i=0;i<100000;i++)a=[a];return a'),
    /json: error calling MarshalJSON .*RangeError: Maximum call stack size exceeded/,
  ],
  ['an answer of 1 GB', resultOf('var s="x";for(var i=0;i<30;i++)s+=s;return s'), /RangeError: Invalid string length|memory|ended/],
  ['an answer of 100 MB', resultOf('return "x".repeat(100*1024*1024)'), /more than 67108864 bytes|memory|execution timeout/],
  ['a way to the host by constructors', resultOf('return this.constructor.constructor("return process")()'), /process is not defined/],
  [
    'a way to the host by what it is given',
    resultOf(
      'var seen=[];[ctx,db,db.exists,toHex,ctx.from,ctx.value].forEach(function(o){var F=o.constructor.constructor;seen.push(F("return typeof process+typeof require+typeof global+typeof inside")())});return seen',
    ),
    { result: Array(6).fill('undefinedundefinedundefinedundefined') },
  ],
  [
    'a way to the host by call sites',
    resultOf(
      'var o=[];Error.prepareStackTrace=function(e,s){s.forEach(function(c){var t=c.getThis(),f=c.getFunction();o.push(t===undefined||t===null||t.result!==undefined,f===undefined||f===null||/result/.test(""+f))});return ""};toHex.call;try{null.x}catch(e){e.stack}try{toHex(null)}catch(e){e.stack}return o.indexOf(false)',
    ),
    { result: -1 },
  ],
  // The rejected promise has no effect.
  [
    'a way to modules',
    resultOf('var t=this;t.r=0;import("node:fs").then(function(){t.r=1});return [t.r,typeof require]'),
    { result: [0, 'undefined'] },
  ],
  ['a getter that throws', resultOf('return {get x(){throw "thrown"}}'), /json: error calling MarshalJSON for type \*goja\.Object: thrown/],
  ['a toJSON that throws', resultOf('return {toJSON:function(){throw {toString:function(){throw 1}}}}'), /json: error calling MarshalJSON/],
  ['a thrown value that throws', stepOf('throw {toString:function(){throw 1}}'), /in server-side tracer function 'step'/],
  ['WebAssembly.Memory', stepOf('new WebAssembly.Memory({initial:65536})'), /ReferenceError: WebAssembly is not defined/],
  [
    'Atomics.wait',
    stepOf('Atomics.wait(new Int32Array(new SharedArrayBuffer(4)),0,0)'),
    /ReferenceError: (Atomics|SharedArrayBuffer) is not defined/,
  ],
  [
    'built-ins replaced under the engine',
    '{r:0,step:function(log){this.r+=log.getPC()},fault:function(){},setup:function(){Function.prototype.call=Function.prototype.apply=Function.prototype.bind=null;Array.prototype.push=null;Object.defineProperty(Object.prototype,"value",{set:function(){throw 1},get:function(){return 1}});Uint8Array.prototype.set=null;JSON.stringify=null;Object.defineProperty=null;Math.floor=null;String=null},result:function(ctx){return [this.r,ctx.gas,typeof ctx.from]}}',
    { result: [11, 1048576, 'object'] },
  ],
]

/** Processes below a node, by what the kernel says. */
function childrenOf(pid: number): number[] {
  return fs.readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return []
    try {
      const stat = fs.readFileSync(`/proc/${name}/stat`, 'utf8')
      const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      return Number(parent) === pid && state !== 'Z' ? [Number(name)] : []
    } catch {
      return []
    }
  })
}

/** Resident memory in bytes. */
const memoryOf = (pid: number): number => Number(/VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024

/** Whether a process runs: it may end while it is looked at. */
function isAlive(pid: number): boolean {
  try {
    return !/\) Z /.test(fs.readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

const COUNT = '{n:0,step:function(){this.n++},fault:function(){},result:function(){return this.n}}'
const quantile = (times: readonly number[], part: number): number =>
  [...times].sort((a, b) => a - b)[Math.floor(times.length * part)] as number

describe.skipIf(NO_SCRIPTS)('attacks by scripts', () => {
  const homes: string[] = []
  const start = (...args: string[]): Promise<RunningNode> => {
    const home = tempHome()
    homes.push(home)
    return startNode(['dev', '--home', home, ...args])
  }
  let node: RunningNode
  beforeAll(async () => {
    node = await start()
    expect((await traceCode(node.url, COUNT)).result).toBe(4)
  })
  afterAll(async () => {
    const children = childrenOf(node.pid)
    expect(await node.stop()).toBe(0)
    await until('the end of the children', () => !children.some(isAlive))
    for (const home of homes) fs.rmSync(home, { recursive: true, force: true })
  })

  it.each(ATTACKS)('%s', async (name, tracer, outcome) => {
    const limitMs = limitOf(outcome)
    const reply = await traceCode(node.url, tracer, { timeout: `${limitMs}ms` })
    const answer = reply.error?.message ?? JSON.stringify(reply.result)
    expect(reply.ms, answer).toBeLessThan(limitMs + GRACE_MS)
    if (outcome instanceof RegExp) expect(reply.error?.message).toMatch(outcome)
    else expect(reply.result ?? reply.error).toEqual(outcome.result)
    // The next script finds everything as it was.
    const began = performance.now()
    const next = await traceCode(
      node.url,
      '{n:0,step:function(log){this.n+=log.getPC()},fault:function(){},result:function(ctx){return [this.n,JSON.stringify([1]),toHex(ctx.to).slice(-2)]}}',
    )
    expect(next.result ?? next.error).toEqual([11, '[1]', 'cc'])
    console.log(
      `${name}: ${answer.slice(0, 90)} after ${reply.ms.toFixed(0)} ms; the next script after ${(performance.now() - began).toFixed(0)} ms`,
    )
  })

  it('the node and its children stay within their memory', () => {
    for (const child of childrenOf(node.pid)) expect(memoryOf(child)).toBeLessThan(400 * 1024 * 1024)
  })

  it('no child is left after the node was killed while one loops', async () => {
    const doomed = await start()
    const looping = traceCode(doomed.url, stepOf('for(;;){}'), { timeout: '60s' }).catch((e: Error) => e)
    await until('a child', () => childrenOf(doomed.pid).length > 0)
    await sleep(300)
    const children = childrenOf(doomed.pid)
    await doomed.stop('SIGKILL')
    await until('the end of the children', () => !children.some(isAlive))
    expect(await looping).toBeInstanceOf(Error)
  })

  it('children have no environment, descriptors or priority', async () => {
    await traceCode(node.url, COUNT)
    const children = childrenOf(node.pid)
    expect(children.length).toBeGreaterThan(0)
    for (const child of children) {
      expect(fs.readFileSync(`/proc/${child}/environ`, 'utf8')).toBe('')
      const stat = fs.readFileSync(`/proc/${child}/stat`, 'utf8')
      const nice = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16])
      expect(nice).toBe(10)
      const open = fs.readdirSync(`/proc/${child}/fd`).map((fd) => fs.readlinkSync(`/proc/${child}/fd/${fd}`))
      // Descriptors of files, sockets and devices; what Node makes for itself has no name outside.
      expect(open.filter((name) => !name.startsWith('anon_inode:') && !name.startsWith('pipe:') && name !== '/dev/null')).toEqual([
        expect.stringMatching(/^socket:/),
      ])
    }
  })

  it('200 at once beside honest requests', async () => {
    const hostile = [
      stepOf('for(;;){}'),
      stepOf('var a=[];for(;;)a.push(new Array(1000).fill(1))'),
      resultOf('return "x".repeat(100*1024*1024)'),
    ]
    const times = async (ms: number): Promise<number[]> => {
      const all: Promise<number>[] = []
      for (const end = performance.now() + ms; performance.now() < end; await sleep(5)) {
        all.push(call(node.url, 'eth_blockNumber', [], '127.0.0.3').then((reply) => reply.ms))
      }
      return Promise.all(all)
    }
    const idle = await times(2000)
    const before = memoryOf(node.pid)
    const attacks: Promise<Reply>[] = Array.from({ length: 200 }, (_, i) =>
      traceCode(node.url, hostile[i % hostile.length] as string, { timeout: '1s', from: '127.0.0.2' }),
    )
    const loaded = times(3000)
    const honest = await traceCode(node.url, COUNT, { timeout: '5m', from: '127.0.0.4' })
    expect(honest.result ?? honest.error).toBe(4)
    const busy = await loaded
    const outcomes = new Map<string, number>()
    for (const { error } of await Promise.all(attacks)) {
      const what = error?.code === -32005 ? 'busy' : (error?.message ?? 'answered').slice(0, 60)
      outcomes.set(what, (outcomes.get(what) ?? 0) + 1)
    }
    expect(outcomes.get('answered')).toBeUndefined()
    await sleep(1000)
    console.log(
      `p99 of eth_blockNumber ${quantile(idle, 0.99).toFixed(1)} ms idle, ${quantile(busy, 0.99).toFixed(1)} ms beside 200 attacks; an honest script ${honest.ms.toFixed(0)} ms; ${JSON.stringify([...outcomes])}; memory of the node ${Math.round((memoryOf(node.pid) - before) / 1e6)} MB more`,
    )
    // How little it is shows on a machine that does nothing else: npm run bench -- js.
    expect(quantile(busy, 0.5)).toBeLessThan(quantile(idle, 0.5) + 1000)
    expect(memoryOf(node.pid) - before).toBeLessThan(100 * 1024 * 1024)
  })

  it('steps without end are bounded in time and memory', async () => {
    const reply = await traceCode(node.url, stepOf('log.stack.length();log.memory.length()'), {
      code: LOOP,
      gas: '0x1c9c380',
      timeout: '5m',
    })
    expect(reply.error).toBeUndefined()
    expect(reply.result).toEqual([])
    expect(memoryOf(node.pid)).toBeLessThan(1024 * 1024 * 1024)
  })
})
