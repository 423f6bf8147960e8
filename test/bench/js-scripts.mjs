// Scripts of the JavaScript bench, and the code that they watch.
import { loopParams } from './memory.mjs'

const FAULT = 'fault:function(){}'

/** A tracer: its state, what it does at each step, what it answers. */
export const script = (state, step, answer) =>
  `{${state},step:function(log,db){${step}},${FAULT},result:function(ctx,db){return ${answer}}}`

export const HISTOGRAM = script('c:{}', 'var k=log.op.toString();this.c[k]=(this.c[k]||0)+1', 'this.c')

/**
 * Scripts over the loop, and how many times geth's speed is wanted.
 *
 * @type {[name: string, script: string, wanted: number][]}
 */
export const SCRIPTS = [
  ['empty step', script('n:0', '', '0'), 5],
  ['count steps', script('n:0', 'this.n++', 'this.n'), 8],
  ['opcode histogram', HISTOGRAM, 20],
  [
    'pc, gas, cost, depth, op number',
    script('n:0', 'this.n+=log.getPC()+log.getGas()+log.getCost()+log.getDepth()+log.op.toNumber()', 'this.n'),
    20,
  ],
  ['stack.peek(0) and compare', script('n:0', 'if(log.stack.length()>0&&log.stack.peek(0).equals(1))this.n++', 'this.n'), 10],
  ['memory.length', script('n:0', 'this.n+=log.memory.length()', 'this.n'), 10],
  ['db.exists(contract address)', script('n:0', 'if(db.exists(log.contract.getAddress()))this.n++', 'this.n'), 10],
]

/**
 * A debug_traceCall of so many steps of the push/pop loop.
 *
 * @returns {[method: string, params: unknown[]]}
 */
export function loop(steps, tracer) {
  const [call, block, config] = loopParams(steps)
  return ['debug_traceCall', [call, block, { ...config, tracer }]]
}

/** Gas of the loop over a token. */
export const TOKEN_GAS = 10_000_000

const TOKEN = '00000000000000000000000000000000000070ce'
const CALLER = '00000000000000000000000000000000000ca11e'
const TRANSFER = 'ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'

/**
 * transfer(address,uint256) as a token implements it (both balances out of a mapping, an event,
 * true), and an endless caller of it.
 */
const CODE = {
  token: [
    '33',
    '6000',
    '52', // memory[0] = caller
    '6000',
    '6020',
    '52', // memory[32] = place of the mapping
    '6040',
    '6000',
    '20', // slot
    '80',
    '54',
    '6024',
    '35',
    '90',
    '03',
    '90',
    '55', // slot, balance, amount -> store(slot, balance - amount)
    '6004',
    '35',
    '6000',
    '52', // memory[0] = receiver
    '6040',
    '6000',
    '20',
    '80',
    '54',
    '6024',
    '35',
    '01',
    '90',
    '55', // store(slot, balance + amount)
    '6024',
    '35',
    '6000',
    '52', // memory[0] = amount
    '6004',
    '35',
    '33',
    '7f',
    TRANSFER,
    '6020',
    '6000',
    'a3', // Transfer(caller, receiver, amount)
    '6001',
    '6000',
    '52',
    '6020',
    '6000',
    'f3', // return true
  ].join(''),
  caller: [
    '5b',
    '63a9059cbb',
    '60e0',
    '1b',
    '6000',
    '52', // selector
    '61beef',
    '6004',
    '52', // receiver
    '6001',
    '6024',
    '52', // amount
    '6000',
    '6000',
    '6044',
    '6000',
    '6000',
    '73',
    TOKEN,
    '5a',
    'f1',
    '50', // call(gas, token, 0, 0, 68, 0, 0)
    '6000',
    '56',
  ].join(''),
}

/**
 * A debug_traceCall that moves a token until the gas is used up.
 *
 * @returns {[method: string, params: unknown[]]}
 */
export function token(gas, tracer) {
  const stateOverrides = { [`0x${TOKEN}`]: { code: `0x${CODE.token}` }, [`0x${CALLER}`]: { code: `0x${CODE.caller}` } }
  const call = { to: `0x${CALLER}`, gas: `0x${gas.toString(16)}` }
  return ['debug_traceCall', [call, 'latest', { timeout: '300s', stateOverrides, tracer }]]
}
