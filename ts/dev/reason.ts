// Why a call failed, in words: Solidity's Error(string) and Panic(uint256), errors of a contract's
// own, and what the EVM says.
import { panicText } from '../explore/panics.ts'
import { bytesOf, decodeArguments, hexOf, wordAt } from './abi.ts'

/** Selector of `Error(string)`. */
const ERROR = '0x08c379a0'

/** Selector of `Panic(uint256)`. */
const PANIC = '0x4e487b71'

/** Bytes of arguments of a custom error that are shown. */
const ARGUMENT_BYTES_SHOWN = 128

/** What a call that reverted gave back, in words; undefined where it gave nothing. */
export function revertReason(output: string | undefined): string | undefined {
  if (output === undefined || output.length <= 2) return undefined
  const selector = output.slice(0, 10)
  const data = bytesOf(`0x${output.slice(10)}`)
  if (selector === ERROR) {
    const message = decodeArguments(['string'], data)
    if (message !== undefined) return JSON.stringify(message[0])
  }
  if (selector === PANIC && data.length === 32) {
    return panicText(wordAt(data, 0) ?? 0n)
  }
  if (output.length < 10) return `${output} (fewer bytes than a selector)`
  if (data.length === 0) return `custom error ${selector}`
  const shown = hexOf(data.subarray(0, ARGUMENT_BYTES_SHOWN))
  return `custom error ${selector} with ${data.length} bytes: ${shown}${data.length > ARGUMENT_BYTES_SHOWN ? '…' : ''}`
}
