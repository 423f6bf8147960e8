// What Node cannot do with its sockets.
import type { Duplex } from 'node:stream'
import * as native from '../../native/index.js'
import type { SharedAnswer } from './body.ts'

/** What Node knows of a socket beside its interface. */
interface Handled {
  readonly _handle?: { readonly fd?: number } | null
}

/** The number of the file that a socket is; undefined for a socket without one. */
function fileOf(socket: Duplex | null): number | undefined {
  const fd = (socket as Handled | null)?._handle?.fd
  return fd !== undefined && fd >= 0 ? fd : undefined
}

/**
 * Lets a TCP socket take at most about so many bytes that its client has no room for: more of an
 * answer is made once the client reads. The system takes some four mebibytes otherwise.
 */
export function limitUnsent(socket: Duplex | null, bytes: number): void {
  const fd = fileOf(socket)
  if (fd !== undefined) native.limitUnsent(fd, bytes)
}

/**
 * Sends bytes and an answer as far as the system takes them at once; how many of them together. The
 * rest is for the caller to write. A socket in which bytes wait takes none, so that all keep their
 * order.
 */
export function sendNow(socket: Duplex, first: Buffer, answer: SharedAnswer): number {
  const fd = socket.writableLength === 0 && socket.writableCorked === 0 && socket.writable ? fileOf(socket) : undefined
  return fd === undefined ? 0 : answer.send(fd, first)
}
