// CometBFT as a child of this process: started, its log read, restarted if it ends, stopped before
// the stores close.
import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { ComponentLog } from '../log/index.ts'
import { type EngineLine, fatalReason, isIdleAfter, parseLine } from './log-line.ts'

/**
 * Waits before starts, in milliseconds: short after a first death, so that a kill costs little. The
 * last one repeats.
 */
const RESTART_MS = [200, 1000, 2000, 4000, 8000, 16_000, 30_000] as const

/**
 * A process that lived so long begins with the first wait again, in milliseconds: one that cannot
 * start ends within a few seconds, and a validator that is killed now and then must vote soon.
 */
const STEADY_MS = 10_000

/** Time to end after SIGTERM before SIGKILL, in milliseconds. */
export const STOP_MS_MAX = 10_000

/** Lines of plain text of one process that are written to the log: a panic of Go prints many. */
const TEXT_LINES_MAX = 100

/** Where the engine is in its life. `failed`: it is not started again. */
export type EngineState = 'starting' | 'running' | 'restarting' | 'failed' | 'stopped'

/** Every state. */
export const ENGINE_STATES: readonly EngineState[] = ['starting', 'running', 'restarting', 'failed', 'stopped']

/** How the engine is started. */
export interface EngineOptions {
  readonly program: string
  readonly arguments: readonly string[]
  readonly environment: NodeJS.ProcessEnv
  readonly log: ComponentLog
  /** Called with each process that was started. */
  readonly started?: (pid: number) => void
  /** Called once a process has ended. */
  readonly ended?: () => void
  /** In place of `RESTART_MS`, and of `STEADY_MS`. */
  readonly restartMs?: readonly number[]
  readonly steadyMs?: number
  readonly stopMs?: number
}

/** The engine, from its first start to its stop. */
export class Supervisor {
  private readonly options: EngineOptions
  private child: ChildProcess | undefined
  private timer: NodeJS.Timeout | undefined
  private current: EngineState = 'starting'
  private why: string | undefined
  private lastWords = ''
  private deaths = 0
  private count = 0
  private stopping: Promise<void> | undefined
  private readonly atExit = (): void => void this.child?.kill('SIGKILL')

  constructor(options: EngineOptions) {
    this.options = options
  }

  /** Starts the first process. */
  start(): void {
    // Also where this process ends at once: after a second signal.
    process.once('exit', this.atExit)
    this.spawn()
  }

  get state(): EngineState {
    return this.current
  }

  /** Why it is not running; undefined while it is. */
  get reason(): string | undefined {
    return this.current === 'running' ? undefined : this.why
  }

  /** How often it was started again. */
  get restarts(): number {
    return this.count
  }

  get pid(): number | undefined {
    return this.child?.pid
  }

  private spawn(): void {
    const { program, arguments: args, environment, log } = this.options
    this.lastWords = ''
    let child: ChildProcess
    try {
      child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], env: environment })
    } catch (e) {
      this.gone(`it cannot be started: ${(e as Error).message}`, 0)
      return
    }
    this.child = child
    const began = performance.now()
    let texts = 0
    // There are none where the process has no file descriptors left.
    for (const stream of [child.stdout, child.stderr].filter((one) => one !== undefined && one !== null)) {
      createInterface({ input: stream, crlfDelay: Number.POSITIVE_INFINITY }).on('line', (line) => {
        const parsed = parseLine(line)
        if (parsed.level === 'text' && (parsed.message.trim() === '' || ++texts > TEXT_LINES_MAX)) return
        this.heard(parsed)
      })
    }
    let failure: string | undefined
    child.once('error', (e) => {
      failure = e.message
      // Where nothing was started, nothing ends.
      if (child.pid === undefined) this.gone(`it cannot be started: ${e.message}`, 0)
    })
    // Not before its last lines were read: they say why.
    child.once('close', (code, signal) => {
      if (child.pid === undefined) return
      const how = signal === null ? `it ended with status ${code}` : `${signal} ended it`
      this.gone(failure ?? how, performance.now() - began)
    })
    const { pid } = child
    if (pid === undefined) return
    this.noted(() => this.options.started?.(pid))
    if (this.current !== 'failed') this.current = 'running'
    log.info('CometBFT was started', { pid, program })
  }

  /** A line of CometBFT goes to the log, and may forbid another start. */
  private heard(line: EngineLine): void {
    const { log } = this.options
    const fatal = fatalReason(line)
    if (fatal !== undefined && this.current !== 'failed') {
      this.current = 'failed'
      this.why = fatal
      log.error('CometBFT is not started again', { why: fatal })
    }
    const { level, message, fields } = line
    if (level === 'error' || (level === 'text' && /^(panic:|fatal error:|ERROR:)/.test(message))) {
      this.lastWords = [message, fields.err].filter((part) => part !== undefined).join(': ')
      if (fatal === undefined) log.warn(message, fields)
      else log.error(message, fields)
      if (isIdleAfter(line)) this.child?.kill('SIGKILL')
    } else log.debug(message, fields)
  }

  /**
   * Runs a callback. Where it fails, as on a full disk, the log has that: an exception out of an
   * event or a timer would end the node.
   */
  private noted(callback: () => void): void {
    try {
      callback()
    } catch (e) {
      this.options.log.warn("the file of CometBFT's process cannot be changed", { why: e instanceof Error ? e.message : String(e) })
    }
  }

  private gone(how: string, livedMs: number): void {
    const { log, restartMs = RESTART_MS, steadyMs = STEADY_MS } = this.options
    this.child = undefined
    this.noted(() => this.options.ended?.())
    if (this.stopping !== undefined) {
      this.current = 'stopped'
      return
    }
    const last = this.lastWords === '' ? {} : { last: this.lastWords }
    if (this.current === 'failed') {
      log.error('CometBFT has ended', { how, ...last })
      return
    }
    if (livedMs >= steadyMs) this.deaths = 0
    const inMs = restartMs[Math.min(this.deaths, restartMs.length - 1)] ?? 0
    this.deaths++
    this.current = 'restarting'
    this.why = `CometBFT is started again: ${how}${this.lastWords === '' ? '' : ` (${this.lastWords})`}`
    log.warn('CometBFT has ended and is started again', { how, inMs, ...last })
    this.timer = setTimeout(() => {
      this.count++
      this.spawn()
    }, inMs)
  }

  /** Ends it; resolves once it is gone. */
  stop(): Promise<void> {
    this.stopping ??= this.end()
    return this.stopping
  }

  private async end(): Promise<void> {
    clearTimeout(this.timer)
    const { child } = this
    if (child !== undefined) {
      const gone = new Promise<void>((resolve) => child.once('close', () => resolve()))
      child.kill('SIGTERM')
      const timer = setTimeout(() => {
        this.options.log.warn('CometBFT does not end: it is killed', { pid: child.pid })
        child.kill('SIGKILL')
      }, this.options.stopMs ?? STOP_MS_MAX)
      await gone
      clearTimeout(timer)
    }
    this.current = 'stopped'
    process.off('exit', this.atExit)
  }
}
