// Answers of the trace cache that are ready: short ones are copied, long ones share its memory.
import * as native from '../../native/index.js'
import { lengthOf, type SharedAnswer, type WholeBody } from './body.ts'
import { allocateWhole } from './chunks.ts'
import type { OpenOptions, ReadyTrace } from './port.ts'

const { NativeReadyWord: ReadyWord, READY_STRUCT_BYTES } = native

/** Finds an answer that is ready; undefined if there is none. */
export type FindReady = (options: OpenOptions) => ReadyTrace | undefined

/**
 * Answers up to this size are returned as text, which is sent with its head as one piece; in bytes.
 */
const TEXT_BYTES_MAX = 8 * 1024

/**
 * Answers up to this size are copied, in bytes: an object that shares the bytes costs as much as to
 * copy so many.
 */
const COPIED_BYTES_MAX = 16 * 1024

/** Memory for the result struct of a look-up and the answer behind it, both written by the core. */
class ReadyRoom {
  readonly buffer: Buffer
  private readonly words: Uint32Array

  constructor() {
    const bytes = READY_STRUCT_BYTES + COPIED_BYTES_MAX
    this.buffer = allocateWhole(bytes).subarray(0, bytes)
    this.words = new Uint32Array(this.buffer.buffer, this.buffer.byteOffset, READY_STRUCT_BYTES / Uint32Array.BYTES_PER_ELEMENT)
  }

  /** Bytes of the answer. */
  get answerBytes(): number {
    return this.words[ReadyWord.Bytes] as number
  }

  get isGzip(): boolean {
    return this.words[ReadyWord.Gzip] === 1
  }

  get isHistorical(): boolean {
    return this.words[ReadyWord.Historical] === 1
  }

  /** The answer, as text if it is short. */
  body(): WholeBody {
    const { buffer, answerBytes } = this
    const bytes = READY_STRUCT_BYTES + answerBytes
    if (bytes <= TEXT_BYTES_MAX) return { kind: 'latin1', text: buffer.toString('latin1', READY_STRUCT_BYTES, bytes) }
    return { kind: 'bytes', bytes: buffer.subarray(READY_STRUCT_BYTES, bytes) }
  }
}

/** Bytes of the trace cache. */
class NativeShared implements SharedAnswer {
  readonly length: number
  private readonly answer: native.NativeSharedAnswer

  constructor(answer: native.NativeSharedAnswer, length: number) {
    this.answer = answer
    this.length = length
  }

  send(fd: number, first: Buffer): number {
    return this.answer.send(fd, first)
  }

  copy(from = 0): Uint8Array {
    const bytes = allocateWhole(this.length - from)
    return bytes.subarray(0, this.answer.copy(from, bytes))
  }

  release(): void {
    this.answer.release()
  }
}

/** Memory of look-ups until an answer keeps it. */
let spare: ReadyRoom | undefined

/**
 * The answer to a look-up; undefined if there is none. `find` writes the result struct with the
 * answer, or returns an answer that is too long to be copied; false if there is none.
 */
export function ready(find: (into: Buffer) => boolean | native.NativeSharedAnswer): ReadyTrace | undefined {
  spare ??= new ReadyRoom()
  const room = spare
  const found = find(room.buffer)
  if (found === false) return undefined
  const body: WholeBody = found === true ? room.body() : { kind: 'shared', answer: new NativeShared(found, room.answerBytes) }
  if (body.kind === 'bytes') spare = undefined
  return { body: room.isGzip ? { kind: 'gzip', length: lengthOf(body), member: body } : body, historical: room.isHistorical }
}
