// The listeners: JSON-RPC over HTTP with WebSocket by upgrade, over WebSocket alone on a port of
// its own, and debug methods alone on another.
import type http from 'node:http'
import type { Settings } from '../config/index.ts'
import type { Dispatch } from '../rpc/dispatch.ts'
import type { RequestLimits } from '../rpc/scan.ts'
import { warmScan } from '../rpc/scan-warm.ts'
import { aboutText } from './about.ts'
import { type Authentication, authentication, engineAuthentication } from './admission/auth.ts'
import { Admission, webSocketPayload } from './admission/index.ts'
import type { AppOptions } from './app.ts'
import { createServer, shareConnections, timeouts } from './connections.ts'
import { Drain } from './drain.ts'
import { FastPath } from './fast-path.ts'
import { IdleClock } from './idle.ts'
import { lazyApp } from './lazy.ts'
import { SEND_AHEAD_BYTES } from './limits.ts'
import { listen, shownHost, stopListener } from './listener.ts'
import type { ArtifactService } from './pages/artifacts.ts'
import type { Pages } from './pages/index.ts'
import type { StatusSource } from './pages/status.ts'
import type { Readiness } from './readiness.ts'
import { Turns } from './turns.ts'
import { createWebSocketEndpoint, type WebSocketEndpoint, type WebSocketOptions } from './websocket.ts'

export { AuthFileError, asksForTokens, authFileProblems, newRunToken } from './admission/auth.ts'
export { ListenError } from './listener.ts'
export { type MetricsServer, NotOpen, startMetricsServer } from './metrics.ts'
export { type Check, diskHasRoom, headIsYoung, Readiness } from './readiness.ts'

/** Listeners that are open. */
export interface Server {
  /** JSON-RPC over HTTP; undefined where it is switched off. */
  readonly httpUrl: string | undefined
  /** JSON-RPC over WebSocket alone; undefined where it is switched off. */
  readonly wsUrl: string | undefined
  /** Debug methods alone, over HTTP; undefined where they are served with the rest. */
  readonly debugUrl: string | undefined
  /** The Engine API, over HTTP and WebSocket; undefined where it is off. */
  readonly engineUrl: string | undefined
  /**
   * Takes no more connections, lets answers under way finish for a while, then closes what is left.
   * Any call after the first waits with it.
   */
  stop(): Promise<void>
}

/** Limits of requests, whatever they come by. */
const requestLimits = (settings: Settings): RequestLimits => ({
  requests: settings['evm.batch_request_limit'],
  values: settings['evm.max_request_values'],
})

const lowerCase = (words: readonly string[]): string[] => words.map((word) => word.toLowerCase())

/** The inputs of the listeners besides the settings. */
export interface ServerHooks {
  /** Called with failures that do not reach any client. */
  readonly report: (e: unknown) => void
  /** Called for every WebSocket connection. */
  readonly onConnect?: () => void
  /** WebSocket has no listener of its own: that of HTTP serves it by upgrade. */
  readonly upgradesAlone?: boolean
  /** The answers of `/ready`; without it there are no probes. */
  readonly readiness?: Readiness
  /** The scrape page; undefined where metrics are off. */
  readonly metricsUrl?: string | undefined
  /** What serves the listener of debug methods, where the settings have one. */
  readonly debug?: Dispatch
  /**
   * The Engine API: what serves its listener, and the file of its secret; undefined where it is
   * off.
   */
  readonly engine?: { readonly dispatch: Dispatch; readonly secretFile: string } | undefined
  /** What the explorer's pages show of the node; undefined where they are off. */
  readonly explorer?: StatusSource | undefined
  /** Compiler artifacts for the explorer; undefined where the node was given none. */
  readonly artifacts?: ArtifactService | undefined
  /** A token that is let in for as long as the listeners are open, beside those of the settings. */
  readonly runToken?: string | undefined
}

/** What is common to the listeners of a node. */
class Listeners {
  private readonly settings: Settings
  private readonly hooks: ServerHooks
  private readonly admission: Admission
  private readonly authentication: (listener: string) => Authentication | undefined
  private readonly servers: http.Server[] = []
  private readonly endpoints: WebSocketEndpoint[] = []
  private readonly fastPaths = new Map<http.Server, FastPath>()
  private readonly drain = new Drain()
  private readonly turns = new Turns()
  private pages: Pages | undefined
  /** Ports by listener, once it is open. */
  private readonly ports = new Map<'http' | 'debug', number>()

  constructor(settings: Settings, hooks: ServerHooks, asks?: Authentication) {
    this.settings = settings
    this.hooks = hooks
    this.admission = new Admission(settings)
    this.authentication = asks === undefined ? authentication(settings, { runToken: hooks.runToken }) : () => asks
  }

  private httpOptions(name: string, dispatch: Dispatch): AppOptions {
    const { settings, hooks, admission } = this
    return {
      dispatch,
      admission,
      authentication: this.authentication(name),
      allowedHosts: lowerCase(settings['evm.allowed_hosts']),
      corsOrigins: lowerCase(settings['evm.cors_origins']),
      maxBodyBytes: settings['evm.max_request_body_bytes'],
      requestLimits: requestLimits(settings),
      compression: { thresholdBytes: settings['evm.gzip_threshold_bytes'], level: settings['evm.gzip_level'] },
      drain: this.drain,
      turns: this.turns,
      bodyIdle: new IdleClock(settings['evm.body_read_idle_timeout']),
      writeMs: settings['evm.write_timeout'],
      stallMs: settings['evm.trace_stall_timeout'],
      about: aboutText(settings, hooks.readiness !== undefined, hooks.metricsUrl),
      readiness: hooks.readiness,
      ...this.explorerOptions(name),
      dispatched: new WeakMap(),
      report: hooks.report,
    }
  }

  /** The explorer is on the listener of HTTP, and reads what that of debug methods answers. */
  private explorerOptions(name: string): Pick<AppOptions, 'pages' | 'explorerPort'> {
    const { hooks, admission, settings } = this
    const { explorer: source, artifacts, report } = hooks
    if (source === undefined) return {}
    if (name !== 'http') return { explorerPort: () => this.ports.get('http') }
    const debugPort = (): number | undefined => this.ports.get('debug')
    const authentication = this.authentication(name)
    const pages = async (): Promise<Pages['app']> => {
      const { createPages } = await import('./pages/index.ts')
      const bodyIdle = new IdleClock(settings['evm.body_read_idle_timeout'])
      const writeMs = settings['evm.write_timeout']
      this.pages ??= createPages({ admission, authentication, debugPort, source, artifacts, bodyIdle, writeMs, report })
      return this.pages.app
    }
    return { pages }
  }

  private webSocketOptions(name: string, dispatch: Dispatch): WebSocketOptions {
    const { settings, hooks, admission } = this
    return {
      dispatch,
      admission,
      authentication: this.authentication(name),
      allowedHosts: lowerCase(settings['evm.allowed_hosts']),
      origins: lowerCase(settings['evm.ws_origins']),
      stopMs: settings['evm.shutdown_timeout'],
      maxPayloadBytes: webSocketPayload(settings),
      maxInFlight: settings['evm.ws_max_in_flight'],
      requestLimits: requestLimits(settings),
      arrival: new IdleClock(settings['evm.read_timeout']),
      pingMs: settings['evm.ws_ping_interval'],
      writeMs: settings['evm.write_timeout'],
      stallMs: settings['evm.trace_stall_timeout'],
      report: hooks.report,
      onConnect: hooks.onConnect ?? (() => undefined),
    }
  }

  private make(name: string, dispatch: Dispatch, listener: http.RequestListener): http.Server {
    const server = createServer({ ...timeouts(this.settings), highWaterMark: SEND_AHEAD_BYTES }, listener)
    if (this.settings['evm.ws_enabled']) {
      const endpoint = createWebSocketEndpoint(this.webSocketOptions(name, dispatch))
      server.on('upgrade', endpoint.upgrade)
      this.endpoints.push(endpoint)
    }
    this.servers.push(server)
    return server
  }

  /**
   * A listener of HTTP, and of WebSocket where that is on. The settings `SECTION_host` and
   * `SECTION_port` say where.
   */
  async openHttp(name: 'http' | 'debug', dispatch: Dispatch, portSetting = `evm.${name}_port`): Promise<string> {
    const options = this.httpOptions(name, dispatch)
    const server = this.make(
      name,
      dispatch,
      lazyApp(async () => (await import('./app.ts')).createApp(options), options.report),
    )
    // Only node:http's way reads tokens and JWTs.
    if (this.settings['evm.http_fast_path'] && options.authentication === undefined) {
      this.fastPaths.set(server, new FastPath(server, options, { firstMs: server.headersTimeout, idleMs: server.keepAliveTimeout }))
    }
    shareConnections(server, this.settings, this.admission)
    const host = this.settings[`evm.${name}_host`]
    const port = await listen(server, host, this.settings[`evm.${name}_port`], portSetting)
    this.ports.set(name, port)
    return `http://${shownHost(host)}:${port}`
  }

  /**
   * The listener of WebSocket alone. Where host and port are those of HTTP, that listener serves
   * both.
   */
  async openWs(dispatch: Dispatch, httpUrl: string | undefined): Promise<string> {
    if (this.hooks.upgradesAlone === true && httpUrl !== undefined) return httpUrl.replace(/^http:/, 'ws:')
    const host = this.settings['evm.ws_host']
    const port = this.settings['evm.ws_port']
    if (port !== 0 && httpUrl === `http://${shownHost(host)}:${port}`) return `ws://${shownHost(host)}:${port}`
    const server = this.make(
      'ws',
      dispatch,
      lazyApp(async () => (await import('./websocket-app.ts')).createWebSocketApp(this.hooks.readiness), this.hooks.report),
    )
    shareConnections(server, this.settings, this.admission)
    return `ws://${shownHost(host)}:${await listen(server, host, port, 'evm.ws_port')}`
  }

  async close(): Promise<void> {
    this.pages?.stop()
    for (const endpoint of this.endpoints) endpoint.close()
    const withinMs = this.settings['evm.shutdown_timeout']
    await Promise.all(
      this.servers.filter((server) => server.listening).map((server) => stopListener(server, withinMs, this.fastPaths.get(server))),
    )
  }
}

/** Open connections of the Engine API: one consensus client has a few. */
const ENGINE_CONNECTIONS = 100

/** Largest requests of the Engine API that may be in memory at the same time. */
const ENGINE_BODIES = 2

/**
 * The settings of a listener, as those of the Engine API say: one trusted client, long requests, no
 * limit of its rate.
 */
const engineSettings = (settings: Settings): Settings => ({
  ...settings,
  'evm.http_host': settings['engine.host'],
  'evm.http_port': settings['engine.port'],
  'evm.ws_enabled': true,
  'evm.max_request_body_bytes': settings['engine.max_request_body_bytes'],
  'evm.ws_max_payload_bytes': 'auto',
  'evm.max_concurrent_request_bytes': ENGINE_BODIES * settings['engine.max_request_body_bytes'],
  'evm.max_open_connections': ENGINE_CONNECTIONS,
  'evm.max_share_per_client': 1,
  'evm.rate_limiting_enabled': false,
  'evm.cors_origins': [],
  'evm.ws_origins': [],
})

/**
 * Opens the listeners that are switched on. Rejects with `ListenError`, or with `AuthFileError`
 * before any of them is open.
 */
export async function startServer(settings: Settings, dispatch: Dispatch, hooks: ServerHooks): Promise<Server> {
  const listeners = new Listeners(settings, hooks)
  const { engine } = hooks
  const ofEngine = engine && new Listeners(engineSettings(settings), { report: hooks.report }, engineAuthentication(engine.secretFile))
  let stopping: Promise<void> | undefined
  const stop = (): Promise<void> => {
    stopping ??= Promise.all([listeners.close(), ofEngine?.close()]).then(() => undefined)
    return stopping
  }
  try {
    const httpUrl = settings['evm.http_enabled'] ? await listeners.openHttp('http', dispatch) : undefined
    const wsUrl = settings['evm.ws_enabled'] ? await listeners.openWs(dispatch, httpUrl) : undefined
    const isDebugApart = settings['evm.debug_port'] !== 0 && hooks.debug !== undefined
    const debugUrl = isDebugApart ? await listeners.openHttp('debug', hooks.debug) : undefined
    const engineUrl = engine && (await ofEngine?.openHttp('http', engine.dispatch, 'engine.port'))
    if (engine) warmScan().catch(hooks.report)
    return { httpUrl, wsUrl, debugUrl, engineUrl, stop }
  } catch (e) {
    await stop()
    throw e
  }
}
