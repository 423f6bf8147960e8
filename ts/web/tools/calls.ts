// Calls that are not mined, in the address of the page: behind its #, compressed, so that a link
// has the whole form and no server sees it.
import { steppedOf, traceCallOf, type WhatIf, whatIfOf } from '../../explore/index.ts'
import { CALL, isCall } from '../store/router.ts'
import { RpcFailure, rewriting } from '../store/rpc.ts'
import { checkForm, isLocal, keepLocal, localForm } from './local-forms.ts'

/** Maximum length of a form in a link, in characters. A larger form is stored in this tab only. */
export const FRAGMENT_MAX = 8 * 1024

/** Forms that this tab keeps. */
const KEPT_MAX = 50

/** Calls by the fragment of their address, their block a hash. */
const calls = new Map<string, WhatIf>()

async function through(bytes: Uint8Array<ArrayBuffer>, stream: GenericTransformStream): Promise<Uint8Array<ArrayBuffer>> {
  const reader = new Blob([bytes])
    .stream()
    .pipeThrough(stream as TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>)
    .getReader()
  const parts: Uint8Array<ArrayBuffer>[] = []
  let size = 0
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    size += part.value.length
    checkForm(size)
    parts.push(part.value)
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer())
}

/** A form as a fragment; throws where it is too large. */
export async function fragmentOf(whatIf: WhatIf): Promise<string> {
  const json = new TextEncoder().encode(JSON.stringify(whatIf))
  checkForm(json.length)
  const packed = await through(json, new CompressionStream('deflate-raw'))
  let text = ''
  for (const byte of packed) text += String.fromCharCode(byte)
  const fragment = btoa(text).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')
  return fragment.length <= FRAGMENT_MAX ? fragment : keepLocal(whatIf)
}

/** The form of a fragment; throws where it does not read. */
export async function whatIfIn(fragment: string): Promise<WhatIf> {
  if (isLocal(fragment)) return localForm(fragment)
  const packed = Uint8Array.from(atob(fragment.replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0))
  const text = new TextDecoder().decode(await through(packed, new DecompressionStream('deflate-raw')))
  return whatIfOf(JSON.parse(text))
}

/** Has requests for a call's name send the call. `whatIf` has a hash as its block. */
export function register(fragment: string, whatIf: WhatIf): string {
  calls.delete(fragment)
  calls.set(fragment, whatIf)
  if (calls.size > KEPT_MAX) calls.delete(calls.keys().next().value as string)
  rewriting.request = rewritten
  return `${CALL}${fragment}`
}

function rewritten(method: string, params: readonly unknown[]): [string, readonly unknown[]] {
  const [name, options] = params
  if (typeof name !== 'string' || !isCall(name)) return [method, params]
  const whatIf = calls.get(name.slice(CALL.length))
  if (whatIf === undefined) throw new RpcFailure(method, 'this call is gone: run it again', 200)
  if (method === 'debug_traceTransaction') return ['debug_traceCall', traceCallOf(whatIf, (options ?? {}) as object)]
  return [method, [steppedOf(whatIf), ...params.slice(1)]]
}
