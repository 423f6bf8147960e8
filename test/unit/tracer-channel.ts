// The parent's end of a JavaScript tracer's channel, for tests: encodes steps and events, and
// exchanges messages with a real child process.
import { type ChildProcess, spawn } from 'node:child_process'
import type { Duplex } from 'node:stream'
import { scriptCommand } from '../../dist/tracer/command.js'
import { FIELD } from '../../ts/tracer/inside/fields.ts'

const aligned = (n: number): number => (n + 7) & -8
const hex = (text: string, length: number): Buffer => Buffer.from(text.replace(/^0x/, '').padStart(2 * length, '0'), 'hex')

/** One step as a test writes it; what is absent is 0. */
export interface Step {
  readonly op?: number
  readonly pc?: number
  readonly gas?: number
  readonly cost?: number
  readonly depth?: number
  readonly refund?: number
  /** Words of the stack before that stay, and the new ones on top as hex text. */
  readonly keep?: number
  readonly push?: readonly string[]
  readonly memoryLength?: number
}

/** An event before the step `at`. */
export interface Event {
  readonly at: number
  readonly kind: number
  readonly payload: Uint8Array
}

const ZERO = '0x00'

/** A frame's beginning. */
export function enter(
  at: number,
  o: {
    type?: number
    shown?: boolean
    gas?: number
    from?: string
    to?: string
    value?: string
    caller?: string
    address?: string
    contractValue?: string
    input?: string
  } = {},
): Event {
  const fixed = Buffer.alloc(12)
  fixed[0] = o.type ?? 0xf1
  fixed[1] = (o.shown ? 1 : 0) | (o.value === undefined ? 0 : 2) | 4
  fixed.writeDoubleLE(o.gas ?? 0, 4)
  const parts = [
    hex(o.from ?? ZERO, 20),
    hex(o.to ?? ZERO, 20),
    hex(o.value ?? ZERO, 32),
    hex(o.caller ?? o.from ?? ZERO, 20),
    hex(o.address ?? o.to ?? ZERO, 20),
    hex(o.contractValue ?? o.value ?? ZERO, 32),
  ]
  return { at, kind: 1, payload: Buffer.concat([fixed, ...parts, Buffer.from((o.input ?? '').replace(/^0x/, ''), 'hex')]) }
}

/** A frame's end. */
export function exit(at: number, o: { shown?: boolean; failed?: boolean; gasUsed?: number; error?: string; output?: string } = {}): Event {
  const error = Buffer.from(o.error ?? '', 'utf8')
  const fixed = Buffer.alloc(16)
  fixed[0] = (o.shown ? 1 : 0) | (o.failed ? 2 : 0)
  fixed.writeUInt32LE(error.length, 4)
  fixed.writeDoubleLE(o.gasUsed ?? 0, 8)
  return { at, kind: 2, payload: Buffer.concat([fixed, error, Buffer.from((o.output ?? '').replace(/^0x/, ''), 'hex')]) }
}

export const fault = (at: number, text: string): Event => ({ at, kind: 3, payload: Buffer.from(text) })
export const stepError = (at: number, text: string): Event => ({ at, kind: 9, payload: Buffer.from(text) })
export function memory(at: number, offset: number, bytes: string): Event {
  const fixed = Buffer.alloc(4)
  fixed.writeUInt32LE(offset)
  return { at, kind: 4, payload: Buffer.concat([fixed, Buffer.from(bytes, 'hex')]) }
}

/** State of an account as tests write it. */
export interface AccountState {
  readonly exists: boolean
  readonly nonce?: number
  readonly balance?: string
  /** Whether it has code. */
  readonly code?: boolean
}

function accountBytes(account: AccountState, padding: number): Buffer {
  const fixed = Buffer.alloc(1 + padding + 8)
  fixed[0] = account.exists ? 1 : 0
  fixed.writeDoubleLE(account.nonce ?? 0, 1 + padding)
  return Buffer.concat([fixed, hex(account.balance ?? ZERO, 32), Buffer.alloc(32, account.code ? 7 : 0)])
}

export const account = (at: number, address: string, state: AccountState): Event => ({
  at,
  kind: 5,
  payload: Buffer.concat([hex(address, 20), accountBytes(state, 3)]),
})
export const slot = (at: number, address: string, key: string, value: string): Event => ({
  at,
  kind: 6,
  payload: Buffer.concat([hex(address, 20), hex(key, 32), hex(value, 32)]),
})
export const code = (at: number, address: string, bytes: string): Event => ({
  at,
  kind: 7,
  payload: Buffer.concat([hex(address, 20), Buffer.from(bytes, 'hex')]),
})
export const wiped = (at: number, address: string): Event => ({ at, kind: 8, payload: hex(address, 20) })

/** Encodes a chunk; `acknowledge` requests DONE after it. */
export function chunk(fields: number, steps: readonly Step[], events: readonly Event[], acknowledge = true): Buffer {
  const has = (field: number) => (fields & field) !== 0
  const columns: Buffer[] = []
  const column = (bytes: Buffer) => columns.push(Buffer.concat([bytes, Buffer.alloc(aligned(bytes.length) - bytes.length)]))
  const numbers = (bytesEach: number, write: (b: Buffer, step: Step, at: number) => void) => {
    const bytes = Buffer.alloc(steps.length * bytesEach)
    steps.forEach((step, i) => {
      write(bytes, step, i * bytesEach)
    })
    column(bytes)
  }
  if (has(FIELD.op)) numbers(1, (b, s, at) => b.writeUInt8(s.op ?? 0, at))
  if (has(FIELD.pc)) numbers(4, (b, s, at) => b.writeUInt32LE(s.pc ?? 0, at))
  if (has(FIELD.gas)) numbers(8, (b, s, at) => b.writeDoubleLE(s.gas ?? 0, at))
  if (has(FIELD.cost)) numbers(8, (b, s, at) => b.writeDoubleLE(s.cost ?? 0, at))
  if (has(FIELD.depth)) numbers(2, (b, s, at) => b.writeUInt16LE(s.depth ?? 1, at))
  if (has(FIELD.refund)) numbers(8, (b, s, at) => b.writeDoubleLE(s.refund ?? 0, at))
  const words = has(FIELD.stack) ? steps.flatMap((step) => (step.push ?? []).map((word) => hex(word, 32))) : []
  if (has(FIELD.stack)) {
    numbers(2, (b, s, at) => b.writeUInt16LE(s.keep ?? 0, at))
    numbers(1, (b, s, at) => b.writeUInt8(s.push?.length ?? 0, at))
    column(Buffer.concat(words))
  }
  if (has(FIELD.memory) || has(FIELD.memoryLength)) numbers(4, (b, s, at) => b.writeUInt32LE(s.memoryLength ?? 0, at))
  const written = events.map(({ at, kind, payload }) => {
    const header = Buffer.alloc(12)
    header.writeUInt32LE(at)
    header[4] = kind
    header.writeUInt32LE(payload.length, 8)
    return Buffer.concat([header, payload, Buffer.alloc(((payload.length + 3) & -4) - payload.length)])
  })
  const eventBytes = Buffer.concat(written)
  const header = Buffer.alloc(32)
  header.writeUInt32LE(steps.length, 0)
  header.writeUInt32LE(events.length, 4)
  header.writeUInt32LE(words.length, 8)
  header.writeUInt32LE(fields, 12)
  header.writeUInt32LE(eventBytes.length, 16)
  header.writeUInt32LE(acknowledge ? 1 : 0, 20)
  return Buffer.concat([header, ...columns, eventBytes])
}

/** What the child may read of the state before the transaction. */
export interface Base {
  readonly accounts?: Readonly<Record<string, AccountState>>
  readonly codes?: Readonly<Record<string, string>>
  /** By address and key, both as hex digits without prefix, with a colon between. */
  readonly slots?: Readonly<Record<string, string>>
}

/** A transaction as a test writes it. */
export interface Transaction {
  readonly source?: string
  readonly name?: string
  readonly config?: string
  readonly fields?: number
  readonly precompiles?: readonly string[]
  readonly limits?: { readonly memoryBytes?: number; readonly outputBytes?: number }
  readonly request?: number
  readonly base?: Base
  readonly ctx?: object
  /** Chunks for the fields that are recorded. */
  readonly chunks?: (fields: number) => readonly Buffer[]
}

/** What came of it. */
export interface Outcome {
  readonly result?: unknown
  readonly json?: string
  readonly failed?: string
  readonly needs?: number
  readonly fields?: number
  readonly reads: number
}

const CTX = {
  type: 'CALL',
  from: '0x00000000000000000000000000000000000000aa',
  to: '0x00000000000000000000000000000000000000cc',
  input: '0x',
  gas: 100000,
  gasUsed: 21000,
  gasPrice: '0',
  value: '0',
  output: '0x',
  block: 1,
  coinbase: '0x0000000000000000000000000000000000000000',
}

/** A child process with the parent's end of its channel. */
export class Child {
  readonly process: ChildProcess
  private readonly channel: Duplex
  /** Bits of the layers that confine it. */
  layers = 0
  private held = Buffer.alloc(0)
  private wake: (() => void) | undefined
  private ended = false

  constructor() {
    const command = scriptCommand()
    if ('unavailable' in command) throw new Error(command.unavailable)
    this.process = spawn(command.program, [...command.args], {
      stdio: ['ignore', 'inherit', 'inherit', 'pipe'],
      env: {},
    })
    this.channel = this.process.stdio[3] as Duplex
    this.channel.on('data', (bytes: Buffer) => {
      this.held = Buffer.concat([this.held, bytes])
      this.wake?.()
    })
    const end = () => {
      this.ended = true
      this.wake?.()
    }
    this.channel.on('close', end)
    this.channel.on('error', end)
  }

  send(kind: number, payload: Uint8Array = new Uint8Array(0)): void {
    const header = Buffer.alloc(8)
    header.writeUInt32LE(payload.length)
    header[4] = kind
    this.channel.write(Buffer.concat([header, payload]))
  }

  /** The next message; undefined where the child is gone. */
  async receive(): Promise<{ kind: number; payload: Buffer } | undefined> {
    for (;;) {
      const length = this.held.length >= 8 ? this.held.readUInt32LE(0) : undefined
      if (length !== undefined && this.held.length >= 8 + length) {
        const message = { kind: this.held[4] as number, payload: Buffer.from(this.held.subarray(8, 8 + length)) }
        this.held = this.held.subarray(8 + length)
        return message
      }
      if (this.ended) return undefined
      await new Promise<void>((resolve) => {
        this.wake = resolve
      })
    }
  }

  /** Runs a transaction the way the core does; one that needs more fields is not run again. */
  async run(tx: Transaction): Promise<Outcome> {
    const begin = {
      source: tx.source ?? null,
      name: tx.name ?? null,
      config: tx.config ?? '{}',
      fields: tx.fields ?? null,
      rules: { precompiles: tx.precompiles ?? [] },
      limits: { memoryBytes: 256 << 20, outputBytes: 1 << 20, ...tx.limits },
      request: tx.request ?? 1,
    }
    this.send(1, Buffer.from(JSON.stringify(begin)))
    let fields = tx.fields
    if (fields !== undefined) this.record(tx, fields)
    for (let reads = 0; ; ) {
      const message = await this.receive()
      if (message === undefined) throw new Error('the child is gone')
      if (message.kind === 12) {
        fields = message.payload.readUInt32LE(0)
        this.record(tx, fields)
      } else if (message.kind === 16) this.send(3, Buffer.from(JSON.stringify({ ...CTX, ...tx.ctx })))
      else if (message.kind === 11) {
        reads++
        this.answer(tx.base ?? {}, message.payload)
      } else if (message.kind === 13) {
        const json = message.payload.toString('utf8')
        return { result: JSON.parse(json), json, reads, ...(fields === undefined ? {} : { fields }) }
      } else if (message.kind === 14) return { failed: JSON.parse(message.payload.toString('utf8')).message, reads }
      else if (message.kind === 15) return { needs: message.payload.readUInt32LE(0), reads }
    }
  }

  private record(tx: Transaction, fields: number): void {
    const chunks = tx.chunks?.(fields) ?? [chunk(fields, [], [enter(0), exit(0)])]
    for (const bytes of chunks) this.send(2, bytes)
  }

  private answer(base: Base, request: Buffer): void {
    const address = request.subarray(1, 21).toString('hex')
    if (request[0] === 0) this.send(4, accountBytes(base.accounts?.[address] ?? { exists: false }, 7))
    else if (request[0] === 1) this.send(4, hex(base.slots?.[`${address}:${request.subarray(21).toString('hex')}`] ?? ZERO, 32))
    else if (base.codes?.[address] === undefined) this.send(5, Buffer.from('no such code'))
    else this.send(4, Buffer.from(base.codes[address], 'hex'))
  }

  /** Closes this end of the channel. */
  hangUp(): void {
    this.channel.destroy()
  }

  stop(): void {
    this.process.kill('SIGKILL')
  }
}

/** A child that has said that it is ready. */
export async function startChild(): Promise<Child> {
  const child = new Child()
  const confined = await child.receive()
  if (confined?.kind !== 9) throw new Error('the child did not say what confines it')
  child.layers = confined.payload.readUInt32LE(0)
  const ready = await child.receive()
  if (ready?.kind !== 10) throw new Error('the child did not start')
  return child
}
