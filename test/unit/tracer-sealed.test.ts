// Scripts over consecutive transactions: from the second on some run in a sealed realm, without a
// visible difference.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { scriptCommand } from '../../dist/tracer/command.js'
import { FIELD } from '../../ts/tracer/inside/fields.ts'
import { isPlain, mayCalculate } from '../../ts/tracer/plain.ts'
import { type Child, chunk, enter, exit, startChild } from './tracer-channel.ts'

/** Fields of scripts that may share a realm, without words. */
const LIGHT = 0x7f | (1 << 9) | (1 << 12)
/** So often a script runs that the last times are in a sealed realm. */
const TIMES = 10
const STEPS = [
  { op: 0x60, pc: 0, gas: 100 },
  { op: 0x50, pc: 2, gas: 97 },
  { op: 0x00, pc: 3, gas: 95 },
]

/** Steps with words of either class of numbers. */
const PUSHED = [
  { op: 0x60, pc: 0, gas: 100, keep: 0, push: ['05'] },
  { op: 0x7f, pc: 2, gas: 97, keep: 1, push: ['f7'.repeat(32)] },
  { op: 0x50, pc: 35, gas: 94, keep: 1, push: [] },
]
/** What a step does with a word. */
const WITH_WORDS: readonly string[] = [
  'this.s=[log.stack.length(),log.stack.peek(0).toString(16),log.stack.peek(0).equals(5)]',
  'this.s=log.stack.peek(0)',
  'this.s=log.stack.peek(0).value',
  'this.s=log.stack.peek(0)+1',
  'this.s=log.stack.peek(7)',
  'var v=log.stack.peek(0);v.value=1;v.mine=2;this.s=[v.value,v.mine,v.isSmall]',
  // Each of these changes what all numbers have.
  'var v=log.stack.peek(0);v.equals.mark=1;this.s=v.equals.mark',
  'var v=log.stack.peek(0);v.equals=function(){return 9};this.s=v.equals(1)',
  'var v=log.stack.peek(0);var p="__pro"+"to__";v[p].mark=1;this.s=v.mark',
  'this.s=typeof log.stack.peek(0).constructor',
]

/** A script whose `result` has this body and whose `step` has that one. */
const script = (body: string, step = '') =>
  `{n:0,c:{},a:[],step:function(log,db){${step}},fault:function(){},result:function(ctx,db){${body}}}`

/**
 * Accepted bodies: they run in the sealed realm from the second transaction on, or are run again if
 * that throws.
 */
const BODIES: readonly string[] = [
  'return this.c',
  'return [this.n,ctx.gas,ctx.type]',
  'return Math.max(1,2)+JSON.stringify([1,{a:2}])',
  'return toHex(toAddress("0x12"))+bigInt(5).add(7).toString()+ctx.value.toString()',
  'var s=0;for(var i=0;i<100;i++)s+=i;return [s,String(s),Number("7"),parseInt("12",10),[3,1,2].sort()]',
  'var m=new Map();m.set(1,2);return [m.size,[1,2,3].map(function(x){return x*2}),[1,2].slice(1),[1,[2]].concat([3])]',
  'return new Date(0).getTime()+typeof nothing',
  // Each of these is an error, or would notice the seal.
  'throw "thrown"',
  'throw {a:1}',
  'return nothing',
  'return null.x',
  'return log.stack',
  'return Object.keys(this.c)',
  'return Object.isFrozen([].constructor.prototype)',
  'return Object.getOwnPropertyDescriptor(Array.prototype,"push").writable',
  'return [].constructor===Array&&({}).constructor===Object',
  'return typeof globalThis+typeof Reflect+typeof Symbol+typeof Promise+typeof Function+typeof Proxy+typeof RegExp+typeof Error',
  'Array.prototype.mark=1;return [].mark',
  'Math.mark=1;return Math.mark',
  'toHex.mark=1;return toHex.mark',
  'toHex=null;return typeof toHex',
  'mark=5;return mark',
  'undefined=1;return typeof undefined',
  'Math.max=function(){return 9};return Math.max(1)',
  'JSON.stringify=function(){return "mine"};return {a:1}',
  'this.c.toString=function(){return "mine"};return ""+this.c',
  'this.c.constructor="x";return this.c',
  'this.c["__proto__"]=[];return this.c.length',
  'var p="__pro"+"to__";this.c[p].mark=1;return ({}).mark',
  'var k="constr"+"uctor";return this.c[k].name',
  'return this.c.hasOwnProperty("x")',
  'return this.step.hasOwnProperty("caller")',
  'return [ctx.isPrototypeOf,ctx.propertyIsEnumerable("gas")].length',
  'return (function(){return this.mark})()===undefined',
  'var f=function(){return this.gone};return f()',
  'return "abc".length=5',
  'var x="abc";x.mark=1;return typeof x.mark',
  'ctx.gas=1;ctx.mine=2;return [ctx.gas,ctx.mine]',
  'db.mine=1;return db.mine',
  'var z=[1,2,3];z.length=1;return z',
  'return 010+1',
  'var o={get x(){return 1}};o.x=5;return o.x',
  'delete this.c;return typeof this.c',
  'return delete [].length',
  'return new Error("x").message',
  'return bigInt.one.mark=1',
  'bigInt.mark=1;return bigInt.mark',
  'return isPrecompiled("0x01")',
  'return toWord()',
  'return slice([1,2,3],5,6)',
  'return [1,2,3].fill(0).concat(Array.from("ab"))',
  'return "a-b".split("-").join("+")+"ab".replace("a","c")',
  'return (0,1,"x")',
  'var a=[];for(var i=0;i<100000;i++)a=[a];return a',
  'return new Array(5).fill(new Uint8Array(2)).length+new Uint8Array([1,2,3]).slice(1).length',
]

/**
 * Rejected texts: they could distinguish strict code from other code, or hide an error, without
 * throwing one.
 */
const OUT: readonly string[] = [
  'try{1}catch(e){}',
  'return this',
  'return typeof this',
  'var self=this;return self.c',
  'return (this)===undefined',
  'return [...this.a,this]',
  'return this?.c',
  'function f(){return 1}return f()',
  'var f=function g(){};return 1',
  'return arguments.length',
  'return eval("1")',
  'var r=/x/;return 1',
  'return 4/2',
  'return `x`',
  'return \\u0074his',
  'with(this.c){x=1}return 1',
  'class A{};return 1',
  'return (async function(){})()',
  'return import("x")',
  'return x.then(1)',
  'return "\u2028"',
  'return 1 <!-- 2',
  'return "',
]

describe.skipIf('unavailable' in scriptCommand())('a script over several transactions', () => {
  let child: Child
  let request = 1000
  beforeAll(async () => {
    child = await startChild()
  })
  afterAll(() => child.stop())

  const run = (source: string, of: number) =>
    child.run({ source, request: of, fields: LIGHT, chunks: (f) => [chunk(f, STEPS, [enter(0), exit(3)])] })

  const STEP = 'this.n+=log.getPC();var k=log.op.toString();this.c[k]=(this.c[k]||0)+1;this.a.push(log.getGas())'

  it.each(BODIES)('%s: the same each time', async (body) => {
    const source = script(body, STEP)
    expect(isPlain(source)).toBe(true)
    // The first transaction of a request has a fresh realm.
    const first = await run(source, ++request)
    for (let i = 0; i < TIMES; i++) {
      const next = await run(source, request)
      expect({ ...next, reads: 0 }).toEqual({ ...first, reads: 0 })
    }
    // Nothing of it is seen by a script that looks at everything.
    const after = await run(
      script('return [[].mark,({}).mark,Math.mark,toHex.mark,typeof mark,typeof toHex,JSON.stringify([1]),bigInt.mark,bigInt.one.mark]'),
      ++request,
    )
    expect(after.result).toEqual([null, null, null, null, 'undefined', 'function', '[1]', null, null])
  })

  it.each(BODIES)('in its first step, %s: the same each time', async (body) => {
    const source = script('return this.r', `if(this.r===undefined){this.r=this.f(log,db,{gas:1,value:5,type:"x"})}`).replace(
      '{n:0',
      `{f:function(log,db,ctx){${body}},n:0`,
    )
    const first = await run(source, ++request)
    for (let i = 0; i < TIMES; i++) expect(await run(source, request)).toEqual(first)
  })

  it.each(WITH_WORDS)('with words, %s: the same each time', async (body) => {
    const source = script('return this.s', body)
    expect([isPlain(source), mayCalculate(source)]).toEqual([true, false])
    const run = (source: string, of: number) =>
      child.run({ source, request: of, fields: LIGHT | FIELD.stack, chunks: (f) => [chunk(f, PUSHED, [enter(0), exit(3)])] })
    const first = await run(source, ++request)
    for (let i = 0; i < TIMES; i++) {
      const next = await run(source, request)
      expect({ ...next, reads: 0 }).toEqual({ ...first, reads: 0 })
    }
    const seen = script('return this.s', 'var v=log.stack.peek(0);this.s=[v.mark,v.equals.mark,v.equals(5)]')
    for (let i = 0; i < TIMES; i++) expect((await run(seen, request)).result).toEqual([null, null, true])
  })

  it('knows scripts that calculate by the names of methods', () => {
    const calculating = ['this.n=log.stack.peek(0).add(1)', 'var m="times";this.n=log.stack.peek(0)[m](2)', 'x . shiftLeft (3)']
    expect(calculating.map(mayCalculate)).toEqual([true, true, true])
    expect(['log.stack.peek(0).equals(1)', 'this.address="andor"'].map(mayCalculate)).toEqual([false, false])
  })

  it.each(OUT)('%s stays out', (body) => {
    expect(isPlain(script(body))).toBe(false)
  })

  it.each([
    '{a:1}); var x = 1; ({y:this.x, step:function(){}, fault:function(){}, result:function(){return this.y}}',
    '{}); var toHex; ({fault:function(){}, step:function(){}, result:function(){return typeof toHex}}',
  ])('%s leaves its parentheses: it stays out, and is the same each time', async (source) => {
    expect(isPlain(source)).toBe(false)
    const first = await run(source, ++request)
    for (let i = 0; i < TIMES; i++) expect(await run(source, request)).toEqual(first)
  })

  it('lets the usual scripts in', () => {
    const usual = [
      '{gasStats: {}, step: function(log, db) { var op = log.op.toString(); if (!this.gasStats[op]) { this.gasStats[op] = {count: 0} } this.gasStats[op].count++ }, fault: function(log, db) {}, result: function(ctx, db) { return this.gasStats }}',
      '{ /* a comment */ data: [], // another\n fault: function(log) {}, step: function(log) { if (log.op.toNumber() == 0x55) this.data.push(toHex(log.contract.getAddress())) }, result: function() { return this.data } }',
      '{n:0,step(log){this.n+=log.getCost()},fault(){},result(){return this.n}}',
    ]
    for (const source of usual) expect(isPlain(source)).toBe(true)
  })

  it('a transaction longer than its kept copy is run again', async () => {
    const source = script('return [this.n,"x"]', 'this.n++')
    request++
    for (let i = 0; i < TIMES; i++) expect((await run(source, request)).result).toEqual([3, 'x'])
    const long = Array.from({ length: 4 }, () => STEPS).flat()
    const many = await child.run({ source, request, fields: LIGHT, chunks: (f) => Array.from({ length: 50 }, () => chunk(f, long, [])) })
    expect(many.result).toEqual([600, 'x'])
  })
})
