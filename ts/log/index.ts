// The log of a node: one line an event on standard error, as JSON or as text, with a level for each
// part of the node.
import { createRequire } from 'node:module'
import type pino from 'pino'
import type { LogComponent, LogLevel } from '../config/index.ts'

/** Values that belong to an event, by name. */
export type Fields = Readonly<Record<string, string | number | boolean | null | undefined>>

/** Writes a line; `time` is when the event was, in milliseconds since 1970, now where absent. */
type WriteLine = (message: string, fields?: Fields, time?: number) => void

/** Where a part of the node writes. */
export interface ComponentLog {
  readonly error: WriteLine
  readonly warn: WriteLine
  readonly info: WriteLine
  readonly debug: WriteLine
}

/** An event that another part of the program has kept until now. */
export interface KeptEvent {
  readonly level: 'debug' | 'info' | 'warn' | 'error'
  readonly component: LogComponent
  readonly message: string
  /** When it was, in milliseconds since 1970. */
  readonly time?: number
  readonly fields?: Fields
}

/** Takes the events that are kept, the oldest first. */
export type TakeEvents = () => readonly KeptEvent[]

/** The log of a node. */
export interface Log {
  /** The log of a part of the node. */
  component(name: LogComponent): ComponentLog
  /**
   * Writes the events that are kept. They are also written before each line of the log, so that
   * lines come in the order of their times.
   */
  readonly catchUp: () => void
  /** Takes events from there from now on; the function that it gives ends that. */
  readonly follow: (take: TakeEvents) => () => void
  /** Reports a failure that does not reach any client; `about` names the request that met it. */
  readonly report: (e: unknown, about?: Fields) => void
}

/** How a log is written. */
export interface LogOptions {
  readonly level: LogLevel
  /** Levels of parts that differ, as PART=LEVEL. */
  readonly levels: readonly string[]
  readonly format: 'json' | 'text'
  /** Takes whole lines. */
  readonly write: (line: string) => void
}

/** Members of a line of JSON that text has in its own place. */
const PLACED = new Set(['level', 'time', 'component', 'msg'])

/**
 * Characters that end a line, move the cursor of a terminal or turn the direction of its text:
 * clients and other nodes may send any.
 */
const UNSAFE = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu

const safe = (text: string): string => text.replace(UNSAFE, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`)

const shown = (value: unknown): string => safe(typeof value === 'string' && /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value))

/**
 * Formats a JSON line as text: `time LEVEL component message name=value …`, followed by the
 * stack, if any.
 */
export function asText(line: string): string {
  const event = JSON.parse(line) as Record<string, unknown>
  const fields = Object.entries(event).filter(([name]) => !PLACED.has(name) && name !== 'stack')
  const stack = typeof event.stack === 'string' ? `\n${event.stack}` : ''
  const msg = safe(String(event.msg))
  const words = [event.time, String(event.level).toUpperCase(), event.component, msg, ...fields.map(([k, v]) => `${k}=${shown(v)}`)]
  return `${words.join(' ')}${stack}\n`
}

/** The levels of the parts that differ. */
function levelsOf(pairs: readonly string[]): ReadonlyMap<string, LogLevel> {
  return new Map(pairs.map((pair) => pair.split('=') as [string, LogLevel]))
}

/** Levels by how little they matter. */
const LEVELS: Readonly<Record<LogLevel, number>> = { silent: 0, error: 1, warn: 2, info: 3, debug: 4 }

/**
 * What writes lines, loaded with the first of them: a start that has nothing to say must not wait
 * for it. Each part has its own level, so that this one lets all of them through.
 */
function openRoot(write: (line: string) => void, now: () => number): pino.Logger {
  const load = createRequire(import.meta.url)('pino') as typeof pino
  const formatters = { level: (label: string) => ({ level: label }) }
  return load({ level: 'trace', base: null, timestamp: () => `,"time":"${new Date(now()).toISOString()}"`, formatters }, { write })
}

/** The time of the line that is written. */
class LineClock {
  private at: number | undefined

  readonly now = (): number => this.at ?? Date.now()

  /** Runs `write` at a time; now where that is undefined. */
  during(time: number | undefined, write: () => void): void {
    this.at = time
    write()
    this.at = undefined
  }
}

/** The part's own log; `open` makes what writes its lines, `before` is called before each. */
function componentLog(level: LogLevel, open: () => pino.Logger, clock: LineClock, before: () => void): ComponentLog {
  const most = LEVELS[level]
  let logger: pino.Logger | undefined
  const at =
    (name: keyof ComponentLog): WriteLine =>
    (message, fields = {}, time = undefined) => {
      if (LEVELS[name] > most) return
      before()
      logger ??= open()
      const to = logger
      clock.during(time, () => to[name](fields, message))
    }
  return { error: at('error'), warn: at('warn'), info: at('info'), debug: at('debug') }
}

/** The frames of a stack, without the name and message that stand before them. */
function framesOf({ stack = '' }: Error): string {
  const lines = stack.split('\n')
  const first = lines.findIndex((line) => /^ {4}at /.test(line))
  return first < 0 ? '' : lines.slice(first).join('\n')
}

/**
 * The fields of a line about a failure, besides its message. A failure of the core has a kind; the
 * stack frames of its error do not help.
 */
function failureFields(failure: Error): Fields {
  const { kind } = failure as { kind?: unknown }
  if (typeof kind === 'string') return { name: failure.name, kind }
  return { name: failure.name, stack: framesOf(failure) }
}

/** The level of a part of the node. */
export const levelOf = ({ level, levels }: Pick<LogOptions, 'level' | 'levels'>, component: LogComponent): LogLevel =>
  levelsOf(levels).get(component) ?? level

/** Opens a log. */
export function openLog({ level, levels, format, write }: LogOptions): Log {
  const clock = new LineClock()
  const sources = new Set<TakeEvents>()
  let root: pino.Logger | undefined
  const open = (name: LogComponent, level: string): pino.Logger => {
    root ??= openRoot((line) => write(format === 'json' ? line : asText(line)), clock.now)
    return root.child({ component: name }, { level })
  }
  const own = levelsOf(levels)
  let isCatchingUp = false
  const catchUp = (): void => {
    // The lines written below call this function again.
    if (isCatchingUp) return
    isCatchingUp = true
    try {
      for (const take of sources)
        for (const { level, component: name, message, fields, time } of take()) component(name)[level](message, fields, time)
    } finally {
      isCatchingUp = false
    }
  }
  const follow = (take: TakeEvents): (() => void) => {
    sources.add(take)
    return () => void sources.delete(take)
  }
  const components = new Map<LogComponent, ComponentLog>()
  const component = (name: LogComponent): ComponentLog => {
    const least = own.get(name) ?? level
    const found = components.get(name) ?? componentLog(least, () => open(name, least), clock, catchUp)
    components.set(name, found)
    return found
  }
  const report = (e: unknown, about: Fields = {}): void => {
    const failure = e instanceof Error ? e : new Error(String(e))
    component('node').error(failure.message, { ...about, ...failureFields(failure) })
  }
  return { component, catchUp, follow, report }
}
