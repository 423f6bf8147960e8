// The program of a child process: runs the scripts of JavaScript tracers in isolates, over what the
// parent sends.
//
//   node [V8 options] main.js LIBRARY CORE     the files of isolated-vm's library and of the core's
//
// It trusts nothing that a script does: whatever goes wrong ends the request or, at worst, this
// process, which the parent replaces.
import { insideScript } from '../bundle.ts'
import { FIELD } from '../inside/fields.ts'
import { isPlain, mayCalculate } from '../plain.ts'
import { SCRIPTS } from '../scripts/index.ts'
import { type Message, receive, send } from './channel.ts'
import { confineProcess } from './confine.ts'
import { Cell, type Fresh, type Inside } from './isolate.ts'
import { loadIsolatedVm } from './isolated-vm.ts'
import { ACKNOWLEDGE, CHUNK_FLAGS_AT, FROM_PARENT, TO_PARENT } from './messages.ts'

/** What begins a transaction. */
interface Begin {
  readonly source: string | null
  readonly name: string | null
  readonly config: string
  /** null: to be found out from the script. */
  readonly fields: number | null
  readonly rules: { readonly precompiles: readonly string[] }
  readonly limits: { readonly memoryBytes: number; readonly outputBytes: number }
  /** Transactions of one request share an isolate. */
  readonly request: number
}

/** Memory of the isolate that is made before any request has set its limit, in bytes. */
const FIRST_MEMORY_BYTES = 256 * 1024 * 1024

const ivm = loadIsolatedVm(process.argv[2] ?? '')
const runtimeSource = insideScript()
const text = (payload: ArrayBuffer): string => Buffer.from(payload).toString('utf8')
const bytes = (of: string): Uint8Array => Buffer.from(of, 'utf8')

/** Hands a buffer to an isolate without copying it. */
const moved = (buffer: ArrayBuffer): unknown =>
  new ivm.ExternalCopy(buffer, { transferOut: true }).copyInto({ release: true, transferIn: true })

/** Messages that came while an answer to a read was awaited. */
const early: Message[] = []
/** The transaction that a script runs on ended: nothing more of it may be taken for the next. */
let over = true

/** Whether the message ends the transaction: the parent wants nothing more of it. */
function isLast(message: Message): boolean {
  if (message.kind === FROM_PARENT.stop) send(TO_PARENT.done, undefined)
  else if (message.kind !== FROM_PARENT.begin) return false
  else early.unshift(message)
  over = true
  return true
}

/** Whether the parent waits until the chunk that the script was given last is done with. */
let awaited = false

/**
 * The messages that a transaction in a sealed context has received, for a second run in a fresh
 * context.
 */
class MessageLog {
  readonly messages: Message[] = []
  private bytes = 0

  /**
   * Keeps a copy; false if that would be too much. Messages after the steps are always kept: then
   * it is too late to request them again.
   */
  keep({ kind, payload }: Message): boolean {
    this.bytes += payload.byteLength
    if (this.bytes > TAPE_BYTES && kind === FROM_PARENT.steps) return false
    this.messages.push({ kind, payload: payload.slice(0) })
    return true
  }
}

/** Maximum size of the message log, in bytes. */
const TAPE_BYTES = 32 * 1024 * 1024

/** What is recorded of the transaction that runs. */
let messageLog: MessageLog | undefined
/** Whether the message log was full: the core executes the transaction once more. */
let isCut = false
/** What a transaction that runs again is given first. */
let again: Message[] = []

/** The next message of this transaction; undefined where there is none any more. */
function next(): Message | undefined {
  if (over) return undefined
  const known = again.shift()
  if (known !== undefined) return known
  if (awaited) send(TO_PARENT.done, undefined)
  const message = early.shift() ?? receive()
  if (message.kind === FROM_PARENT.steps) {
    const header = new DataView(message.payload)
    steps += header.getUint32(0, true)
    awaited = (header.getUint32(CHUNK_FLAGS_AT, true) & ACKNOWLEDGE) !== 0
  } else awaited = false
  if (isLast(message)) return undefined
  isCut = messageLog?.keep(message) === false
  return isCut ? undefined : message
}

const pull = new ivm.Callback(() => {
  const message = next()
  if (message === undefined) return undefined
  return message.kind === FROM_PARENT.end ? text(message.payload) : moved(message.payload)
})

function readRequest(what: number, address: string, key: string): Uint8Array {
  return Buffer.concat([Uint8Array.of(what), Buffer.from(address, 'hex'), Buffer.from(key, 'hex')])
}

const read = new ivm.Callback((what: number, address: string, key: string) => {
  if (over) return undefined
  send(TO_PARENT.read, readRequest(what, address, key))
  for (;;) {
    const message = receive()
    if (message.kind === FROM_PARENT.state) return moved(message.payload)
    if (message.kind === FROM_PARENT.stateFailed) return text(message.payload)
    if (isLast(message)) return undefined
    early.push(message)
  }
})

const u32 = (n: number): Uint8Array => new Uint8Array(Uint32Array.of(n).buffer)

/** Sends how a run failed; true where it did. The texts are those of inside/interrupt.ts. */
function ended(outcome: string): boolean {
  if (outcome.startsWith('F')) send(TO_PARENT.failed, bytes(JSON.stringify({ message: outcome.slice(1) })))
  else if (outcome.startsWith('N')) send(TO_PARENT.needs, u32(Number(outcome.slice(1))))
  else return outcome.startsWith('S')
  return true
}

const sourceOf = (begin: Begin): string | undefined => begin.source ?? SCRIPTS.get(begin.name ?? '')

/** Calls the inside; throws what the engine throws. */
type Call = (inside: Inside, ...args: unknown[]) => string

const call: Call = (inside, ...args) => String(inside.applySync(undefined, args))

/** The call of the inside that gives what the last one returned. */
const RETURNED = 5

/**
 * As `call`, also where the engine throws because the script left a rejected promise without a
 * handler.
 */
const callWithRejections: Call = (inside, ...args) => {
  try {
    return call(inside, ...args)
  } catch (error) {
    let returned: unknown
    try {
      returned = inside.applySync(undefined, [RETURNED])
    } catch {
      // The isolate is gone.
    }
    if (typeof returned !== 'string') throw error
    return returned
  }
}

/**
 * Runs the transaction. `ended` is called with each outcome, and returns whether the run is over.
 */
function run(inside: Inside, begin: Begin, callInside: Call, ended: (outcome: string) => boolean): void {
  const call = (...args: unknown[]): string => callInside(inside, ...args)
  const source = sourceOf(begin)
  if (source === undefined) return void ended(`Fno script is named ${begin.name}`)
  const loaded = call(0, pull, read, source, begin.config, begin.fields)
  if (ended(loaded)) return
  const wanted = Number(loaded)
  isLight = !isHeavy(wanted)
  if (begin.fields === null) send(TO_PARENT.loaded, u32(wanted))
  const precompiles = begin.rules.precompiles.map((address) => address.replace(/^0x/, '').toLowerCase())
  if (ended(call(1, wanted, precompiles.join(',')))) return
  const { outputBytes } = begin.limits
  const answer = call(2, outputBytes)
  if (ended(answer)) return
  const result = bytes(answer.slice(1))
  if (result.length > outputBytes) {
    ended(`Fthe result of the tracer has more than ${outputBytes} bytes (evm.trace_js_output_bytes)`)
  } else send(TO_PARENT.result, result)
}

/** What an isolate's failure is to the user. */
function failure(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  return /memory limit|disposed/.test(message) ? 'the tracer ran out of memory (evm.trace_js_memory_bytes)' : message
}

let memoryBytes = FIRST_MEMORY_BYTES
let cell = new Cell(ivm, runtimeSource, memoryBytes)
let spare: Cell | undefined = cell
let request: number | undefined

/** Heap of an isolate that may wait until it is disposed of, in bytes. */
const RETIRED_BYTES = 8 * 1024 * 1024

/** An isolate that no request has any more; it is disposed of after the next answer. */
let retired: Cell | undefined

/** Gives up an isolate: at once where its script left much in it. */
function retire(used: Cell): void {
  if (used.heapBytes() > RETIRED_BYTES) used.dispose()
  else retired = used
}

/**
 * How long the process waited for the transaction that runs, and from when on it is idle, in
 * milliseconds. With one request after the other a warm-up would take a seventh of the throughput.
 */
let waitedMs = 0
const IDLE_MS = 5

/** The isolate for a request: another one than any request before had. */
function cellFor(begin: Begin): Cell {
  if (begin.request === request && !cell.isolate.isDisposed) return cell
  if (spare !== cell) retire(cell)
  if (begin.limits.memoryBytes !== memoryBytes) {
    spare?.dispose()
    spare = undefined
    memoryBytes = begin.limits.memoryBytes
  }
  cell = spare ?? new Cell(ivm, runtimeSource, memoryBytes)
  spare = undefined
  request = begin.request
  return cell
}

/**
 * Transactions of a request that have a fresh context each; to seal one costs as much as about ten
 * fresh ones.
 */
const FRESH_FIRST = 8

/**
 * The request whose script may run in a sealed context once it has run on some transactions, and on
 * how many it has.
 */
let plain: number | undefined
let transactions = 0
/**
 * Steps of the request so far, and most for each transaction that a sealed context is worth: each
 * takes longer in there.
 */
let steps = 0
const STEPS_WORTH = 20_000
/** Where scripts get words from. */
const WORDS = FIELD.stack | FIELD.memory | FIELD.contract | FIELD.input
/** Whether the request's script may calculate with words. */
let calculates = false
/**
 * Whether fields keep a script out: the state does, and words with which it calculates, since
 * arithmetic of big numbers takes up to half as long again where all is frozen.
 */
const isHeavy = (fields: number): boolean => (fields & FIELD.journal) !== 0 || (calculates && (fields & WORDS) !== 0)
/** Whether the script that ran last looks at nothing that keeps it out, as far as is known. */
let isLight = false

/**
 * The sealed context for a transaction, where it may have one: what it changes in the state is not
 * looked at, nor is it the first.
 */
function sealedFor(begin: Begin): Fresh | undefined {
  const isFirst = begin.request !== request
  const where = cellFor(begin)
  if (isFirst) {
    const source = sourceOf(begin) ?? ''
    plain = isPlain(source) && !source.includes('bigInt') ? begin.request : undefined
    calculates = mayCalculate(source)
    transactions = steps = 0
  }
  const isWorth = transactions >= FRESH_FIRST && steps < transactions * STEPS_WORTH
  transactions++
  const isKnownLight = begin.fields !== null && !isHeavy(begin.fields)
  return isWorth && isKnownLight && plain === begin.request ? where.sealed() : undefined
}

/**
 * Runs a transaction in a sealed context. False where it must run again in a fresh one: any error
 * may be one that a fresh context would not have, or would word in another way.
 */
function runSealed({ inside }: Fresh, begin: Begin): boolean {
  messageLog = new MessageLog()
  isCut = false
  let isDone = true
  try {
    run(inside, begin, call, (outcome) => {
      if (outcome.startsWith('F')) isDone = false
      // With the state too, it is none that may run here.
      else if (isCut) return ended(`N${FIELD.journal}`)
      else return ended(outcome)
      return true
    })
  } catch (error) {
    if (cell.isolate.isDisposed) throw error
    isDone = false
  }
  if (isDone) return true
  again = messageLog.messages
  cell.unseal()
  return false
}

function transact(message: Message): void {
  over = awaited = false
  again = []
  messageLog = undefined
  try {
    const begin = JSON.parse(text(message.payload)) as Begin
    const sealed = sealedFor(begin)
    const isDone = sealed !== undefined && runSealed(sealed, begin)
    messageLog = undefined
    if (!isDone) {
      const fresh = cell.take()
      try {
        run(fresh.inside, begin, callWithRejections, ended)
      } finally {
        cell.drop(fresh)
      }
    }
  } catch (error) {
    ended(`F${failure(error)}`)
  }
  over = true
  // The answer is on its way: the context of the next transaction is made while none is waiting.
  if (plain !== request || !isLight || transactions < FRESH_FIRST) cell.prepare()
  retired?.dispose()
  retired = undefined
  if (spare !== undefined) return
  const made = new Cell(ivm, runtimeSource, memoryBytes)
  try {
    if (waitedMs >= IDLE_MS) made.warmUp()
  } catch {
    // The memory that the request allows is too little for it.
    made.dispose()
  }
  made.prepare()
  if (!made.isolate.isDisposed) spare = made
}

cell.prepare()
// All that this process needs is loaded: from here on it has its memory and its channel. No script
// has come yet.
send(TO_PARENT.confined, u32(confineProcess(process.argv[3])))
send(TO_PARENT.ready, undefined)
// After the message, since the parent needs some time to send a first request.
cell.warmUp()
for (;;) {
  const began = performance.now()
  const message = early.shift() ?? receive()
  waitedMs = performance.now() - began
  if (message.kind === FROM_PARENT.begin) transact(message)
  else if (message.kind === FROM_PARENT.stop) send(TO_PARENT.done, undefined)
}
