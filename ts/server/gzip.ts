// Compression of whole answers, on zlib's threads and not on this one. Node's module is loaded by
// the first answer that is compressed.
import { promisify } from 'node:util'
import zlib from 'node:zlib'

let packed: ((bytes: zlib.InputType, options: zlib.ZlibOptions) => Promise<Buffer>) | undefined

/** Compresses an answer. */
export function gzip(bytes: zlib.InputType, options: zlib.ZlibOptions): Promise<Buffer> {
  packed ??= promisify(zlib.gzip)
  return packed(bytes, options)
}
