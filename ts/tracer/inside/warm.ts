// A transaction of one step with which an isolate is warmed up before it is needed. V8 compiles a
// function when it is first called, and a pattern when it is first matched: together that takes
// longer than a short transaction.
import { FIELD } from './fields.ts'
import { Bytes, View } from './primordials.ts'

/** A script that looks at what most scripts look at. */
export const WARM_SCRIPT = `{
  counts: {},
  setup: function (config) { this.config = config },
  enter: function (frame) { frame.getType(); frame.getFrom(); frame.getTo(); frame.getInput(); frame.getGas() },
  exit: function (result) { result.getGasUsed(); result.getOutput(); result.getError() },
  step: function (log, db) {
    var name = log.op.toString()
    this.counts[name] = (this.counts[name] || 0) + log.op.toNumber() + log.stack.length()
    log.getPC(); log.getGas(); log.getCost(); log.getDepth(); log.getError(); log.contract.getAddress()
  },
  fault: function (log, db) {},
  result: function (ctx, db) { return { type: ctx.type, to: toHex(ctx.to), counts: this.counts } }
}`

/** The context of the transaction, in the form in which the core sends one. */
export const WARM_CONTEXT = '{"type":"CALL","from":"0x01","to":"0x02","input":"0x","gas":0,"value":"0","output":"0x"}'

/** The outcome of the script. */
export const WARM_OUTCOME = 'R{"type":"CALL","to":"0x02","counts":{"ADD":2}}'

/** What is recorded for the script. */
export const WARM_FIELDS =
  FIELD.step | FIELD.op | FIELD.pc | FIELD.gas | FIELD.cost | FIELD.depth | FIELD.stack | FIELD.contract | FIELD.input | FIELD.frames

/** Places in the chunk: see `columnsOf` of chunk.ts and the events of events.ts. */
const AT = { op: 32, pushed: 80, enter: 120, exit: 288 } as const
const CHUNK_BYTES = 316

/** One step, ADD with a word on the stack, within a frame that begins and ends. */
export function warmChunk(): ArrayBuffer {
  const bytes = new Bytes(CHUNK_BYTES)
  const view = new View(bytes.buffer)
  const number = (at: number, value: number): void => view.setUint32(at, value, true)
  // Steps, events, words of the stack, fields.
  number(0, 1)
  number(4, 2)
  number(8, 1)
  number(12, WARM_FIELDS)
  bytes[AT.op] = 0x01
  bytes[AT.pushed] = 1
  // Each event: the step that it stands before, kind, length; then operation and flags.
  bytes[AT.enter + 4] = 1
  number(AT.enter + 8, 156)
  bytes[AT.enter + 12] = 0xf1
  bytes[AT.enter + 13] = 1
  number(AT.exit, 1)
  bytes[AT.exit + 4] = 2
  number(AT.exit + 8, 16)
  bytes[AT.exit + 12] = 1
  return bytes.buffer as ArrayBuffer
}
