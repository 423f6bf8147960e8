// What `start` and `dev` share: open the node, listen, serve until a signal, close in order.
import type { Mode } from '../../core/config.ts'
import { openNode } from '../../core/native.ts'
import type { Core } from '../../core/port.ts'
import { makeDispatch } from '../../rpc/dispatch.ts'
import { type Server, startServer } from '../../server/index.ts'
import type { Parsed } from '../args.ts'
import type { Terminal } from '../command.ts'
import { homeOf, settingsOf } from '../home.ts'
import { startMetrics } from '../metrics.ts'
import { batchLimits, nodeConfig, rpcContext } from '../node-config.ts'
import { onStop } from '../signals.ts'

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

/** Serves a home until a signal asks to stop; resolves to the exit code. */
export async function serve(
  mode: Mode,
  parsed: Parsed,
  terminal: Terminal,
  ready: (server: Server, core: Core) => Promise<string>,
): Promise<number> {
  const home = homeOf(parsed)
  const { settings } = settingsOf(parsed, home, terminal, { dev: mode === 'dev' })
  const stopped = new Promise<void>((resolve) => onStop(() => resolve()))
  const report = (e: unknown): void => terminal.err(`error: ${e instanceof Error ? (e.stack ?? e.message) : String(e)}\n`)
  const core = await openNode(nodeConfig(home, mode, settings))
  const noMoreNotices = tellNotices(core, terminal)
  try {
    const metrics = await startMetrics(core, settings, report)
    try {
      const dispatch = makeDispatch(rpcContext(core, settings), batchLimits(settings), report, metrics.meter)
      const server = await startServer(settings, dispatch, report, metrics.onConnect)
      if (metrics.url !== undefined) terminal.out(`Metrics are on ${metrics.url}\n`)
      terminal.out(await ready(server, core))
      await stopped
      await server.stop()
    } finally {
      await metrics.stop()
    }
  } finally {
    await core.close()
    noMoreNotices()
  }
  return 0
}
