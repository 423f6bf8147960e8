// Options of sockets that Node has no name for.
import type { Duplex } from 'node:stream'
import * as native from '../../native/index.js'

/** What Node knows of a socket beside its interface. */
interface Handled {
  readonly _handle?: { readonly fd?: number } | null
}

/**
 * Lets a TCP socket take at most about so many bytes that its client has no room for: more of an
 * answer is made once the client reads. The system takes some four mebibytes otherwise.
 */
export function limitUnsent(socket: Duplex | null, bytes: number): void {
  const fd = (socket as Handled | null)?._handle?.fd
  if (fd !== undefined && fd >= 0) native.limitUnsent(fd, bytes)
}
