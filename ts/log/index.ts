// The log of a node: one line an event on standard error, as JSON or as text, with a level for each part of the node.
import pino from 'pino'
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
  /** Levels of parts that differ, as ROOM=LEVEL. */
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
function levelsOf(pairs: readonly string[]): ReadonlyMap<string, string> {
  return new Map(pairs.map((pair) => pair.split('=') as [string, string]))
}

/** Opens a log. */
export function openLog({ level, levels, format, write }: LogOptions): Log {
  const options: pino.LoggerOptions = {
    // Each part has its own level; the root must let all of them through.
    level: 'trace',
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
  }
  const root = pino(options, { write: (line: string) => write(format === 'json' ? line : asText(line)) })
  const own = levelsOf(levels)
  const rooms = new Map<LogRoom, RoomLog>()
  const room = (name: LogRoom): RoomLog => {
    let found = rooms.get(name)
    if (found === undefined) {
      const logger = root.child({ room: name }, { level: own.get(name) ?? level })
      found = {
        error: (message, fields = {}) => logger.error(fields, message),
        warn: (message, fields = {}) => logger.warn(fields, message),
        info: (message, fields = {}) => logger.info(fields, message),
        debug: (message, fields = {}) => logger.debug(fields, message),
      }
      rooms.set(name, found)
    }
    return found
  }
  const report = (e: unknown): void => {
    const failure = e instanceof Error ? e : new Error(String(e))
    room('node').error(failure.message, { name: failure.name, stack: failure.stack })
  }
  return { room, report }
}
