// Messages on the child's descriptor 3, read and written synchronously: the child has nothing else
// to do while it waits.
import fs from 'node:fs'

const CHANNEL = 3
/** u32 length of the payload, u8 kind, 3 zero bytes. */
const HEADER_BYTES = 8
/** No message is longer: a chunk is far shorter, code and results have limits of their own. */
const MAX_MESSAGE_BYTES = 512 * 1024 * 1024

/** One message. */
export interface Message {
  readonly kind: number
  readonly payload: ArrayBuffer
}

/** The parent is gone, and with it every reason to run. */
function leave(): never {
  process.exit(0)
}

function fill(target: Uint8Array): void {
  let at = 0
  while (at < target.length) {
    const read = fs.readSync(CHANNEL, target, at, target.length - at, null)
    if (read === 0) leave()
    at += read
  }
}

const header = new Uint8Array(HEADER_BYTES)
const headerView = new DataView(header.buffer)

/** Waits for the next message. */
export function receive(): Message {
  try {
    fill(header)
    const length = headerView.getUint32(0, true)
    if (length > MAX_MESSAGE_BYTES) leave()
    const payload = new ArrayBuffer(length)
    fill(new Uint8Array(payload))
    return { kind: headerView.getUint8(4), payload }
  } catch {
    return leave()
  }
}

/** Sends a message. */
export function send(kind: number, payload: Uint8Array | undefined): void {
  const length = payload?.length ?? 0
  const message = new Uint8Array(HEADER_BYTES + length)
  const view = new DataView(message.buffer)
  view.setUint32(0, length, true)
  view.setUint8(4, kind)
  if (payload !== undefined) message.set(payload, HEADER_BYTES)
  try {
    for (let at = 0; at < message.length; ) at += fs.writeSync(CHANNEL, message, at, message.length - at)
  } catch {
    leave()
  }
}
