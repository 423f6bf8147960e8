// How the console prints: lines for a reader, or lines of JSON for a program.
import { printable } from './abi.ts'
import type { EmptyBlocks, Shown } from './console.ts'
import type { Failure } from './frames.ts'

/** Prints what happens on a chain. */
export interface Printer {
  transaction(shown: Shown): void
  /** Blocks without transactions. */
  empty(blocks: EmptyBlocks): void
  /** What console.log printed in a call that is not on the chain. */
  call(method: string, lines: readonly string[]): void
  /** A request was answered. */
  request(method: string, ms: number, success: boolean): void
  /** So many events went by too fast. */
  missed(events: number): void
  /** The console cannot continue. */
  ended(e: unknown): void
}

/** Writes the texts of one turn of the event loop as one. */
export function together(out: (text: string) => void): (text: string) => void {
  let texts: string[] = []
  return (text) => {
    if (text === '') return
    if (texts.length === 0)
      process.nextTick(() => {
        const all = texts.join('')
        texts = []
        out(all)
      })
    texts.push(text)
  }
}

/** Thousands apart. Not by locale: that would load the tables of all of them. */
const grouped = (n: number): string => String(n).replace(/\B(?=(\d{3})+$)/g, ',')

const words = (e: unknown): string => (e instanceof Error ? e.message : String(e))

/** The frame of a failure in words. */
function whereOf({ type, to, selector, depth }: Failure): string {
  const called = `${type}${to === undefined ? '' : ` to ${to}`}${selector === undefined ? '' : `, function ${selector}`}`
  return `in ${called}, ${depth === 0 ? 'the transaction itself' : `${depth} ${depth === 1 ? 'call' : 'calls'} deep`}`
}

/** Lines for a reader. */
export function textPrinter(out: (text: string) => void): Printer {
  const logged = (lines: readonly string[]): string => lines.map((line) => `  console.log: ${line.replaceAll('\n', '\n    ')}\n`).join('')
  return {
    transaction({ block, hash, gasUsed, created, failure, console, url }) {
      const end = failure !== undefined ? `failed: ${failure.reason}` : created !== undefined ? `made contract ${created}` : ''
      out(`block ${block}  ${hash}  gas ${grouped(gasUsed)}${end === '' ? '' : `  ${end}`}\n`)
      if (failure !== undefined) {
        out(`  ${whereOf(failure)}\n`)
        for (let cause = failure.replaced; cause !== undefined; cause = cause.replaced)
          out(`  in place of ${cause.reason}\n    ${whereOf(cause)}\n`)
      }
      out(logged(console))
      if (url !== undefined) out(`  ${url}\n`)
    },
    empty: ({ first, last, hash }) => out(`${first === last ? `block ${last}` : `blocks ${first} to ${last}`}  ${hash}  empty\n`),
    call: (method, lines) => out(`${method}\n${logged(lines)}`),
    // A client may send any name.
    request: (method, ms, success) => out(`${printable(method.replaceAll(/\s/g, ' '))}  ${ms.toFixed(1)} ms${success ? '' : '  failed'}\n`),
    missed: (events) => out(`${grouped(events)} events went by too fast to be shown\n`),
    ended: (e) => out(`nothing more is shown of the chain: ${words(e)}\n`),
  }
}

/** Lines of JSON, each an object with the member `event`. */
export function jsonPrinter(out: (text: string) => void): Printer {
  const line = (event: string, members: object): void => out(`${JSON.stringify({ event, ...members })}\n`)
  return {
    transaction: (shown) => line('transaction', { ...shown, success: shown.failure === undefined }),
    empty: (blocks) => line('empty', blocks),
    call: (method, lines) => line('call', { method, console: lines }),
    request: (method, ms, success) => line('request', { method, ms: Number(ms.toFixed(1)), success }),
    missed: (events) => line('missed', { events }),
    ended: (e) => line('ended', { reason: words(e) }),
  }
}
