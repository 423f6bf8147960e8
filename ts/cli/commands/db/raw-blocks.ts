// Blocks of another node, as RLP in a file: debug_getRawBlock by hash. The core checks each block
// against its hash.
import fs from 'node:fs'
import type { BlockRecord } from '../../../core/db.ts'
import { CoreError } from '../../../core/error.ts'
import { NoAnswer, post, shownUrl } from '../../../peers/post.ts'
import { foreignText } from '../../../peers/words.ts'

/** Longest time for each answer, in milliseconds. */
const ANSWER_MS_MAX = 30_000

/** Longest answer that is read, in bytes: a block as hex, which has 64 MiB at most. */
const ANSWER_BYTES_MAX = 2 * 64 * 1024 * 1024 + 1024

/** Whether a value is hex of whole bytes. A group in the pattern would overflow the stack. */
const isBytes = (value: unknown): value is string => typeof value === 'string' && value.length % 2 === 0 && /^0x[0-9a-f]+$/i.test(value)

async function rawBlock(url: string, { number, hash }: BlockRecord, answerBytesMax: number): Promise<Buffer> {
  const failed = (why: string): CoreError =>
    new CoreError('io', `${shownUrl(url)}: debug_getRawBlock of block ${number} (${hash}): ${foreignText(why)}`)
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'debug_getRawBlock', params: [hash] })
  let answer: { readonly result?: unknown; readonly error?: { readonly message?: unknown } } | null
  try {
    answer = (await post(url, body, { timeoutMs: ANSWER_MS_MAX, answerBytesMax })) as typeof answer
  } catch (e) {
    throw failed(e instanceof NoAnswer && e.timedOut ? `no answer within ${ANSWER_MS_MAX} ms` : (e as Error).message)
  }
  const { result, error } = answer ?? {}
  if (!isBytes(result)) throw failed(String(error?.message ?? 'no block in the answer'))
  return Buffer.from(result.slice(2), 'hex')
}

/**
 * Writes blocks that a node gives to a file, one after the other. An answer of more bytes than
 * `answerBytesMax` is refused as soon as that many have come.
 */
export async function rawBlocks(
  url: string,
  blocks: readonly BlockRecord[],
  file: string,
  answerBytesMax = ANSWER_BYTES_MAX,
): Promise<void> {
  const out = fs.openSync(file, 'wx')
  try {
    for (const block of blocks) fs.writeSync(out, await rawBlock(url, block, answerBytesMax))
  } finally {
    fs.closeSync(out)
  }
}
