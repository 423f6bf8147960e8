// Frees large buffers at once. The garbage collector frees them when it next runs, which in a
// process that makes few objects may be tens of mebibytes later.
import { MessageChannel, type MessagePort } from 'node:worker_threads'

/** Smaller buffers are left to the garbage collector, in bytes: they may share memory. */
const FREED_BYTES_MIN = 32 * 1024

let nowhere: MessagePort | undefined

/** A port whose other end is gone. */
function closedPort(): MessagePort {
  const { port1 } = new MessageChannel()
  port1.close()
  return port1
}

/**
 * Frees the memory of a buffer, which is empty after that; one that is part of other memory is left
 * as it is. What is transferred to a closed port is detached and dropped (HTML, section 9.4.4).
 */
export function free(bytes: Buffer): void {
  const { buffer, length } = bytes
  if (length < FREED_BYTES_MIN || length !== buffer.byteLength || !(buffer instanceof ArrayBuffer)) return
  nowhere ??= closedPort()
  nowhere.postMessage(undefined, [buffer])
}
