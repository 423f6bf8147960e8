// The output of CometBFT: log lines as JSON, and plain text from Go's runtime or its command line.

/** Values of a line by name. */
export type LineFields = Readonly<Record<string, string>>

/** A line of CometBFT. */
export interface EngineLine {
  /** `text`: it is none of CometBFT's log. */
  readonly level: 'debug' | 'info' | 'error' | 'text'
  readonly message: string
  readonly fields: LineFields
}

/** Longest value and message that are kept, in characters. */
const TEXT_MAX = 1000

/**
 * Members of a line that are no values of their event: those with a place of their own, and the
 * stack of a panic.
 */
const PLACED = new Set(['_msg', 'level', 'ts', 'stack', 'msg'])

const cut = (text: string): string => (text.length > TEXT_MAX ? `${text.slice(0, TEXT_MAX)}…` : text)

const shown = (value: unknown): string => cut(typeof value === 'string' ? value : JSON.stringify(value))

/** Reads a line. */
export function parseLine(line: string): EngineLine {
  let event: Record<string, unknown> | undefined
  try {
    const value: unknown = line.startsWith('{') ? JSON.parse(line) : undefined
    event = value !== null && typeof value === 'object' ? (value as Record<string, unknown>) : undefined
  } catch {
    event = undefined
  }
  if (typeof event?._msg !== 'string') return { level: 'text', message: cut(line), fields: {} }
  const fields = Object.fromEntries(Object.entries(event).flatMap(([name, value]) => (PLACED.has(name) ? [] : [[name, shown(value)]])))
  const { level } = event
  return { level: level === 'error' || level === 'debug' ? level : 'info', message: cut(event._msg), fields }
}

/**
 * The connection to the application ended. That is no reason to stop for good, since CometBFT
 * resumes where it was.
 */
const SOCKET_ENDED =
  /(read|write) message: |\bEOF\b|connection reset|broken pipe|closed network connection|client (is |has |was )?(not running|stopped|already stopped)/i

/** What means that starting again does not help, with what to do. */
const FATAL: readonly { readonly pattern: RegExp; readonly advice: string }[] = [
  {
    pattern: /conflicting vote/i,
    advice: 'the key of this validator signs somewhere else too: stop the other node, which has a copy of priv_validator_key.json',
  },
  { pattern: /wrong Block\.Header\.AppHash/i, advice: 'this node executed a block otherwise than the network did: report it with the log' },
  {
    pattern: /(state|block)\.AppHash does not match/i,
    advice:
      'the chain of this node is another one than the store of CometBFT says, or cometbft/data was emptied: bring that folder back, or go back to a backup of the whole home',
  },
  {
    pattern: /app block height \(\d+\) is higher than core \(\d+\)/i,
    advice: 'the folder cometbft is older than the chain: `hearth db rollback --to` the height of core',
  },
  {
    pattern: /state \(\d+\) and store \(\d+\) height mismatch/i,
    advice: 'state sync was interrupted at its end: remove this data directory and join the network again',
  },
  { pattern: /CONSENSUS FAILURE/, advice: 'consensus has stopped in this node: see the log lines of the component consensus' },
]

/**
 * Why CometBFT must not be started again after a line; undefined if the line is not such a reason.
 */
export function fatalReason({ message, fields, level }: EngineLine): string | undefined {
  if (level !== 'error' && level !== 'text') return undefined
  const cause = fields.err ?? fields.error ?? ''
  const text = `${message} ${cause}`
  const found = FATAL.find(({ pattern }) => pattern.test(text))
  if (found === undefined) return undefined
  if (/CONSENSUS FAILURE/.test(message) && SOCKET_ENDED.test(cause)) return undefined
  const said = [message.trim(), cause.trim()].filter((part) => part !== '').join(': ')
  return `${said} (${found.advice})`
}

/**
 * Whether CometBFT does nothing more after a line, although its process continues to run: it tries
 * a state sync once (`startStateSync` of its `node/setup.go`). Another start begins it again.
 */
export const isIdleAfter = ({ message, level }: EngineLine): boolean => level === 'error' && message === 'State sync failed'
