// What `start` and `dev` share: open the node, listen, serve until a signal, close in order.
import { setTimeout } from 'node:timers/promises'
import type { Settings } from '../../config/index.ts'
import type { Mode } from '../../core/config.ts'
import { openNode } from '../../core/native.ts'
import type { Core } from '../../core/port.ts'
import { makeDispatch } from '../../rpc/dispatch.ts'
import { StartingDispatch } from '../../rpc/starting.ts'
import { type Check, diskHasRoom, headIsYoung, Readiness, type Server, startServer } from '../../server/index.ts'
import type { Parsed } from '../args.ts'
import type { Terminal } from '../command.ts'
import { homeOf, settingsOf } from '../home.ts'
import { startMetrics } from '../metrics.ts'
import { batchLimits, nodeConfig, rpcContext } from '../node-config.ts'
import { type RunningNode, removeRunning, writeRunning } from '../running.ts'
import { onStop } from '../signals.ts'
import { clientVersion } from '../version.ts'

/** Where a node is reached, with what is spoken there. */
export const urlsOf = ({ httpUrl, wsUrl }: Server): string[] => [
  ...(httpUrl === undefined ? [] : [`${httpUrl} (HTTP${wsUrl === undefined ? '' : ' and WebSocket'})`]),
  ...(wsUrl === undefined ? [] : [`${wsUrl} (WebSocket)`]),
]

/** Time between two looks for what the core has to say, in milliseconds. */
const NOTICES_EVERY_MS = 1000

/** Writes what the core has to say to standard error, until the function that this gives is called. */
function tellNotices(core: Core, terminal: Terminal): () => void {
  const tell = (): void => {
    for (const sentence of core.takeNotices()) terminal.err(`warning: ${sentence}\n`)
  }
  const timer = setInterval(tell, NOTICES_EVERY_MS)
  return () => {
    clearInterval(timer)
    tell()
  }
}

/** When the head was made, in seconds since 1970. */
async function headTime(core: Core): Promise<number> {
  const block = JSON.parse(Buffer.from(await core.request('getBlockByNumber', { block: 'latest', full: false })).toString()) as {
    timestamp: string
  }
  return Number(block.timestamp)
}

/** What speaks against sending requests to an open node. */
function readyChecks(core: Core, home: string, settings: Settings): Check[] {
  const maxAge = settings['evm.ready_max_head_age']
  const room = diskHasRoom(home, settings['state-commit.flatkv.min_free_bytes'])
  return maxAge === 0 ? [room] : [room, headIsYoung(() => headTime(core), maxAge)]
}

/** What this process says of itself in the home. */
const runningNode = ({ httpUrl, wsUrl }: Server, metricsUrl: string | undefined): RunningNode => ({
  pid: process.pid,
  version: clientVersion(),
  startedAt: Date.now(),
  httpUrl: httpUrl ?? null,
  wsUrl: wsUrl ?? null,
  metricsUrl: metricsUrl ?? null,
})

/** Serves a home until a signal asks to stop; resolves to the exit code. The listeners are open before the stores are. */
export async function serve(
  mode: Mode,
  parsed: Parsed,
  terminal: Terminal,
  ready: (server: Server, core: Core) => Promise<string>,
): Promise<number> {
  const home = homeOf(parsed)
  const { settings } = settingsOf(parsed, home, terminal, { dev: mode === 'dev' })
  const readiness = new Readiness()
  const stopped = new Promise<void>((resolve) =>
    onStop(() => {
      readiness.drain()
      resolve()
    }),
  )
  const report = (e: unknown): void => terminal.err(`error: ${e instanceof Error ? (e.stack ?? e.message) : String(e)}\n`)
  const starting = new StartingDispatch()
  let open: Core | undefined
  const metrics = await startMetrics(() => open, settings, readiness, report)
  try {
    const server = await startServer(settings, starting.dispatch, { report, onConnect: metrics.onConnect, readiness })
    try {
      const config = nodeConfig(home, mode, settings)
      if (config.scripts && 'unavailable' in config.scripts) terminal.err(`warning: ${config.scripts.unavailable}\n`)
      const core = await openNode(config)
      const noMoreNotices = tellNotices(core, terminal)
      try {
        open = core
        starting.become(makeDispatch(rpcContext(core, settings), batchLimits(settings), report, metrics.meter))
        readiness.opened(readyChecks(core, home, settings))
        writeRunning(home, runningNode(server, metrics.url))
        if (metrics.url !== undefined) terminal.out(`Metrics are on ${metrics.url}\n`)
        terminal.out(await ready(server, core))
        await stopped
        await setTimeout(settings['evm.shutdown_delay'])
        await server.stop()
      } finally {
        removeRunning(home, process.pid)
        await core.close()
        noMoreNotices()
      }
    } finally {
      await server.stop()
    }
  } finally {
    await metrics.stop()
  }
  return 0
}
