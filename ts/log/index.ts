// The log of a node: one line an event on standard error, as JSON or as text, with a level for each part of the node.
import { createRequire } from 'node:module'
import type pino from 'pino'
import type { LogLevel, LogRoom } from '../config/index.ts'

/** Values that belong to an event, by name. */
export type Fields = Readonly<Record<string, string | number | boolean | null | undefined>>

/** Where a part of the node writes. */
export interface RoomLog {
  error(message: string, fields?: Fields): void
  warn(message: string, fields?: Fields): void
  info(message: string, fields?: Fields): void
  debug(message: string, fields?: Fields): void
}

/** The log of a node. */
export interface Log {
  /** The log of a part of the node. */
  room(name: LogRoom): RoomLog
  /** Tells of a failure that no client can be told of. */
  readonly report: (e: unknown) => void
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
const PLACED = new Set(['level', 'time', 'room', 'msg'])

const shown = (value: unknown): string => (typeof value === 'string' && /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value))

/** A line of JSON as text: `time LEVEL room message name=value …`; a stack stands below. */
export function asText(line: string): string {
  const event = JSON.parse(line) as Record<string, unknown>
  const fields = Object.entries(event).filter(([name]) => !PLACED.has(name) && name !== 'stack')
  const stack = typeof event.stack === 'string' ? `\n${event.stack}` : ''
  const words = [event.time, String(event.level).toUpperCase(), event.room, event.msg, ...fields.map(([k, v]) => `${k}=${shown(v)}`)]
  return `${words.join(' ')}${stack}\n`
}

/** The levels of the parts that differ. */
function levelsOf(pairs: readonly string[]): ReadonlyMap<string, LogLevel> {
  return new Map(pairs.map((pair) => pair.split('=') as [string, LogLevel]))
}

/** Levels by how little they matter. */
const LEVELS: Readonly<Record<LogLevel, number>> = { silent: 0, error: 1, warn: 2, info: 3, debug: 4 }

/**
 * What writes lines, loaded with the first of them: a start that has nothing to say must not wait for it. Each part has its own level, so
 * that this one lets all of them through.
 */
function openRoot(write: (line: string) => void): pino.Logger {
  const load = createRequire(import.meta.url)('pino') as typeof pino
  const formatters = { level: (label: string) => ({ level: label }) }
  return load({ level: 'trace', base: null, timestamp: load.stdTimeFunctions.isoTime, formatters }, { write })
}

/** The part's own log; `open` makes what writes its lines. */
function roomLog(level: LogLevel, open: () => pino.Logger): RoomLog {
  const most = LEVELS[level]
  let logger: pino.Logger | undefined
  const at =
    (name: keyof RoomLog): RoomLog['info'] =>
    (message, fields = {}) => {
      if (LEVELS[name] > most) return
      logger ??= open()
      logger[name](fields, message)
    }
  return { error: at('error'), warn: at('warn'), info: at('info'), debug: at('debug') }
}

/** Opens a log. */
export function openLog({ level, levels, format, write }: LogOptions): Log {
  let root: pino.Logger | undefined
  const open = (name: LogRoom, level: string): pino.Logger => {
    root ??= openRoot((line) => write(format === 'json' ? line : asText(line)))
    return root.child({ room: name }, { level })
  }
  const own = levelsOf(levels)
  const rooms = new Map<LogRoom, RoomLog>()
  const room = (name: LogRoom): RoomLog => {
    const least = own.get(name) ?? level
    const found = rooms.get(name) ?? roomLog(least, () => open(name, least))
    rooms.set(name, found)
    return found
  }
  const report = (e: unknown): void => {
    const failure = e instanceof Error ? e : new Error(String(e))
    room('node').error(failure.message, { name: failure.name, stack: failure.stack })
  }
  return { room, report }
}
