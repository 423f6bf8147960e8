// Hooks of this process over what the core records: a trace whose script is real functions, on the
// thread that made them.
import { createRequire } from 'node:module'
import { setImmediate } from 'node:timers/promises'
import vm from 'node:vm'
import { hooksScript } from './bundle.ts'
import { ACKNOWLEDGE, CHUNK_FLAGS_AT, FROM_PARENT, TO_PARENT } from './child/messages.ts'
import type { Own, Recorder } from './inside/own.ts'
import { opcodeNames } from './opcode-names.ts'
import type { ScriptHooks } from './script.ts'

/** The core's side: messages of the channel of scripts. */
export interface HookLink {
  /** Kind of the next message; 0 where none waits yet, -1 where none will come. */
  kind(): number
  /** Bytes of the next message. */
  bytes(): number
  /** Takes the next message. */
  take(into: Buffer): void
  /** Resolves once a message waits, or none will come. */
  ready(): Promise<void>
  /**
   * Blocks until a message of a kind with its bit set waits, which is the next one then; 0 for any.
   * False where none will come.
   */
  wait(kinds: number): boolean
  say(kind: number, payload: Buffer): void
}

/** What a hook threw. */
export class HookFailure extends Error {
  /** The function that threw. */
  readonly hook: string

  constructor(hook: string, cause: unknown) {
    super(`the hook ${hook} threw: ${messageOf(cause)}`, { cause })
    this.hook = hook
  }
}

function messageOf(thrown: unknown): string {
  try {
    return thrown instanceof Error ? thrown.message : String(thrown)
  } catch {
    return 'a value without a text'
  }
}

const NAMES = ['setup', 'step', 'fault', 'enter', 'exit', 'result'] as const

/** Checks what a caller gives as hooks. Throws a TypeError that says what would be right. */
export function checkHooks(hooks: unknown): asserts hooks is ScriptHooks {
  if (typeof hooks !== 'object' || hooks === null) throw new TypeError('hooks must be an object with a function result')
  const given = hooks as Record<string, unknown>
  for (const name of NAMES) {
    if (given[name] !== undefined && typeof given[name] !== 'function') throw new TypeError(`${name} of the hooks must be a function`)
  }
  if (given.result === undefined) throw new TypeError('hooks must have a function result')
  if ((given.enter === undefined) !== (given.exit === undefined)) throw new TypeError('hooks must have both or none of enter and exit')
}

/** A copy of the code that calls hooks, with its own state. */
type Copy = (script: object, recorder: Recorder) => Own
type Factory = (library: unknown, opcodes: readonly string[]) => Copy

let factory: Factory | undefined
let library: unknown

/** Most copies that are kept for later traces. */
const IDLE_MAX = 8

/**
 * Copies that no trace uses, with the hook that the last trace of each called most, the one that
 * was used last at the end. V8 has optimized the copy for that hook: a trace of 10 M steps with
 * another copy takes up to a third longer.
 */
const idle: { readonly hook: WeakRef<object>; readonly copy: Copy }[] = []

/** A copy that no other trace uses: that of the last trace with the same hook, or a new one. */
function takeCopy(hook: object): Copy {
  const at = idle.findIndex((kept) => kept.hook.deref() === hook)
  const [kept] = at < 0 ? [] : idle.splice(at, 1)
  if (kept !== undefined) return kept.copy
  factory ??= new vm.Script(hooksScript(), { filename: 'hearth:hooks' }).runInThisContext() as Factory
  library ??= createRequire(import.meta.url)('big-integer')
  return factory(library, opcodeNames())
}

function keepCopy(hook: object, copy: Copy): void {
  idle.push({ hook: new WeakRef(hook), copy })
  if (idle.length > IDLE_MAX) idle.shift()
}

/** Milliseconds after which the event loop gets its turn. */
const SLICE_MS = 10

const NOTHING = Buffer.alloc(0)
const bit = (kind: number): number => 1 << kind
const ANSWERS = bit(FROM_PARENT.state) | bit(FROM_PARENT.stateFailed) | bit(FROM_PARENT.stop)
const u32 = (n: number): Buffer => Buffer.from(Uint32Array.of(n).buffer)
const text = (bytes: ArrayBuffer): string => Buffer.from(bytes).toString('utf8')

interface Begin {
  readonly config: string
  readonly fields: number | null
}

/** One trace. */
class Hooked<T> {
  readonly results: T[] = []
  private readonly link: HookLink
  private readonly own: Own
  /** Whether the core waits until the chunk that was taken last is done with. */
  private awaited = false
  /** Whether the transaction that is under way has come to its end, or was given up. */
  private over = true

  constructor(link: HookLink, hooks: ScriptHooks<T>, copy: Copy) {
    this.link = link
    this.own = copy(hooks, {
      read: (what, address, key) => this.read(what, address, key),
      more: (fields) => this.more(fields),
      nextChunk: () => this.nextChunk(),
    })
  }

  private take(): ArrayBuffer {
    const payload = new ArrayBuffer(this.link.bytes())
    this.link.take(Buffer.from(payload))
    return payload
  }

  private read(what: number, address: string, key: string): ArrayBuffer | string | undefined {
    if (this.over) return 'there is no state between transactions'
    this.link.say(TO_PARENT.read, Buffer.concat([Buffer.of(what), Buffer.from(address, 'hex'), Buffer.from(key, 'hex')]))
    if (!this.link.wait(ANSWERS) || this.link.kind() === FROM_PARENT.stop) return undefined
    return this.link.kind() === FROM_PARENT.state ? this.take() : text(this.take())
  }

  /** Has the transaction executed once more. */
  private more(fields: number): number | undefined {
    this.link.say(TO_PARENT.needs, u32(fields))
    while (this.link.wait(0)) {
      const kind = this.link.kind()
      if (kind === FROM_PARENT.stop) return undefined
      const payload = this.take()
      if (kind === FROM_PARENT.begin) return (JSON.parse(text(payload)) as Begin).fields ?? undefined
    }
    return undefined
  }

  private nextChunk(): ArrayBuffer | undefined {
    return this.link.wait(0) && this.link.kind() === FROM_PARENT.steps ? this.takeChunk() : undefined
  }

  private takeChunk(): ArrayBuffer {
    const chunk = this.take()
    this.awaited = (new DataView(chunk).getUint32(CHUNK_FLAGS_AT, true) & ACKNOWLEDGE) !== 0
    return chunk
  }

  private begin(payload: ArrayBuffer): void {
    const { config, fields } = JSON.parse(text(payload)) as Begin
    this.over = false
    const wanted = this.own.begin(config, fields)
    if (fields === null) this.link.say(TO_PARENT.loaded, u32(wanted))
    this.own.run(wanted)
  }

  private show(): void {
    this.own.show(this.takeChunk())
    if (this.awaited) this.link.say(TO_PARENT.done, NOTHING)
    this.awaited = false
  }

  private finish(payload: ArrayBuffer): void {
    const value = this.own.result(text(payload)) as T
    this.over = true
    // The core writes the place in place of the value, which stays here.
    this.link.say(TO_PARENT.result, Buffer.from(`${this.results.push(value) - 1}`))
  }

  /** Handles the next message. */
  private act(kind: number): void {
    if (kind === FROM_PARENT.begin) this.begin(this.take())
    else if (kind === FROM_PARENT.steps && !this.over) this.show()
    else if (kind === FROM_PARENT.end && !this.over) this.finish(this.take())
    else {
      this.take()
      if (kind !== FROM_PARENT.stop) return
      this.over = true
      this.link.say(TO_PARENT.done, NOTHING)
    }
  }

  /**
   * As `act`; what a hook throws comes out as a `HookFailure`. False where the core wants nothing
   * more.
   */
  private step(kind: number): boolean {
    let thrown: { readonly cause: unknown } | undefined
    try {
      this.act(kind)
    } catch (cause) {
      thrown = { cause }
    }
    if (this.link.kind() === -1) return false
    if (this.own.isStopped()) {
      this.over = true
      return true
    }
    const interruption = this.own.interruption()
    if (interruption !== undefined) thrown = { cause: interruption }
    if (thrown !== undefined) throw new HookFailure(this.own.hook(), thrown.cause)
    return true
  }

  /** Calls the hooks until the core has nothing more. */
  async run(isAborted: () => boolean): Promise<void> {
    let turn = performance.now()
    for (;;) {
      const kind = this.link.kind()
      if (kind < 0) return
      if (kind === 0) {
        await this.link.ready()
        turn = performance.now()
      } else if (!this.step(kind)) return
      else if (performance.now() - turn > SLICE_MS) {
        await setImmediate()
        turn = performance.now()
      }
      if (isAborted()) return
    }
  }

  /** Ends the trace. Whether the copy may call the hooks of another trace. */
  end(): boolean {
    return this.own.end()
  }
}

/**
 * Calls hooks for every message, transaction by transaction, and returns the `result` of each.
 * `isAborted` is polled between chunks. Rejects with `HookFailure`.
 */
export async function runHooks<T>(link: HookLink, hooks: ScriptHooks<T>, isAborted: () => boolean): Promise<readonly T[]> {
  const hottest = hooks.step ?? hooks.result
  const copy = takeCopy(hottest)
  const hooked = new Hooked<T>(link, hooks, copy)
  await hooked.run(isAborted)
  if (hooked.end()) keepCopy(hottest, copy)
  return hooked.results
}
