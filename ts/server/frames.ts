// Counts the bytes of WebSocket frames as they arrive (RFC 6455, section 5.2), before their
// messages are complete.

const FIN = 0x80
const OPCODE = 0x0f
/** Opcodes from here on are of control frames, which may come between the frames of a message. */
const CONTROL = 0x8
const MASKED = 0x80
const LENGTH = 0x7f
const LENGTH_16 = 126
const LENGTH_64 = 127
const MASK_BYTES = 4

/**
 * Follows the frames of one connection. The receiver handles invalid frames: it ends the
 * connection.
 */
export class FrameCounter {
  /** Messages that are complete. */
  messages = 0
  /** Bytes of the current header that were read, and how many it has; -1 until that is known. */
  private headerAt = 0
  private headerEnd = -1
  private lengthEnd = 0
  private length = 0
  private isFinal = false
  private isData = false
  /** Bytes of the current payload that are to come. */
  private left = 0
  /** Whether a message is incomplete: its final frame has not begun. */
  private isOpen = false

  /** Whether a message or frame has begun and is not complete. */
  get unfinished(): boolean {
    return this.isOpen || this.headerAt > 0 || this.left > 0
  }

  /**
   * Takes the next bytes of the connection; returns the number of message bytes among them, without
   * headers and control frames.
   */
  feed(chunk: Uint8Array): number {
    let bytes = 0
    for (let at = 0; at < chunk.length; ) {
      if (this.left === 0) {
        this.headerByte(chunk[at++] as number)
        continue
      }
      const taken = Math.min(this.left, chunk.length - at)
      at += taken
      this.left -= taken
      if (this.isData) bytes += taken
      if (this.left === 0) this.endFrame()
    }
    return bytes
  }

  private headerByte(byte: number): void {
    const at = this.headerAt++
    if (at === 0) {
      this.isFinal = (byte & FIN) !== 0
      this.isData = (byte & OPCODE) < CONTROL
      this.headerEnd = -1
    } else if (at === 1) {
      const short = byte & LENGTH
      const extended = short === LENGTH_16 ? 2 : short === LENGTH_64 ? 8 : 0
      this.length = extended === 0 ? short : 0
      this.lengthEnd = 2 + extended
      this.headerEnd = this.lengthEnd + ((byte & MASKED) === 0 ? 0 : MASK_BYTES)
    } else if (at < this.lengthEnd) this.length = this.length * 256 + byte
    if (this.headerAt !== this.headerEnd) return
    this.headerAt = 0
    this.left = this.length
    if (this.left === 0) this.endFrame()
  }

  private endFrame(): void {
    if (!this.isData) return
    this.isOpen = !this.isFinal
    if (this.isFinal) this.messages++
  }
}
