// Signatures of the development accounts: what is signed is made here, the keys are the core's.

import type { Definition } from 'ox/TypedData'
import type { Core, Hex } from '../core/port.ts'
import { readBytes } from '../core/results.ts'
import { invalidParams } from './errors.ts'

// ox is imported by the first signature: a node that serves a real chain has no keys, and never
// loads it.

/** A signature over a message (EIP-191). */
export async function signMessage(core: Core, account: Hex, message: Hex): Promise<Uint8Array> {
  // A node without accounts must not load it.
  if (!core.dev) return readBytes(core, 'signDigest', { account, digest: ZERO })
  const { getSignPayload } = await import('ox/PersonalMessage')
  return readBytes(core, 'signDigest', { account, digest: getSignPayload(message as `0x${string}`) })
}

/** A placeholder digest that is never signed. */
const ZERO = `0x${'00'.repeat(32)}`

/** Typed data, which some clients send as text. */
function parsed(data: unknown): unknown {
  if (typeof data !== 'string') return data
  try {
    return JSON.parse(data)
  } catch {
    throw invalidParams('invalid argument 1: data: this is neither an object nor the text of one')
  }
}

/** A signature over typed data (EIP-712). */
export async function signTypedData(core: Core, account: Hex, data: unknown): Promise<Uint8Array> {
  const typed = parsed(data)
  if (typeof typed !== 'object' || typed === null || Array.isArray(typed)) {
    throw invalidParams('invalid argument 1: data: typed data is an object with types, domain, primaryType and message')
  }
  if (!core.dev) return readBytes(core, 'signDigest', { account, digest: ZERO })
  const { getSignPayload } = await import('ox/TypedData')
  let digest: Hex
  try {
    digest = getSignPayload(typed as Definition)
  } catch (e) {
    throw invalidParams(`invalid argument 1: data: ${e instanceof Error ? (e.message.split('\n')[0] ?? '') : String(e)}`)
  }
  return readBytes(core, 'signDigest', { account, digest })
}
