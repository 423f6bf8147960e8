// Blocks of another node, as RLP in a file: debug_getRawBlock by hash. The core checks each block
// against its hash.
import fs from 'node:fs'
import type { BlockRecord } from '../../../core/db.ts'
import { CoreError } from '../../../core/error.ts'

/** Longest time for each answer, in milliseconds. */
const ANSWER_MS_MAX = 30_000

/** Longest answer that is read, in bytes: a block as hex, which has 64 MiB at most. */
const ANSWER_BYTES_MAX = 2 * 64 * 1024 * 1024 + 1024

async function rawBlock(url: string, { number, hash }: BlockRecord): Promise<Buffer> {
  const failed = (why: string): CoreError => new CoreError('io', `${url}: debug_getRawBlock of block ${number} (${hash}): ${why}`)
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'debug_getRawBlock', params: [hash] })
  let text: string
  try {
    const signal = AbortSignal.timeout(ANSWER_MS_MAX)
    const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body, signal })
    if (Number(response.headers.get('content-length') ?? 0) > ANSWER_BYTES_MAX) throw new Error('the answer is too long')
    text = await response.text()
  } catch (e) {
    const { message, cause } = e as Error
    throw failed(cause instanceof Error ? `${message}: ${cause.message}` : message)
  }
  let answer: { result?: unknown; error?: { message?: unknown } }
  try {
    answer = JSON.parse(text) as typeof answer
  } catch {
    throw failed('the answer is not JSON')
  }
  const { result, error } = answer
  if (typeof result !== 'string' || !/^0x([0-9a-f]{2})+$/i.test(result)) throw failed(String(error?.message ?? 'no block in the answer'))
  return Buffer.from(result.slice(2), 'hex')
}

/** Writes blocks that a node gives to a file, one after the other. */
export async function rawBlocks(url: string, blocks: readonly BlockRecord[], file: string): Promise<void> {
  const out = fs.openSync(file, 'wx')
  try {
    for (const block of blocks) fs.writeSync(out, await rawBlock(url, block))
  } finally {
    fs.closeSync(out)
  }
}
