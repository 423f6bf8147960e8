// A server on free ports that runs the methods on a core made for the test.

import { resolveSettings, type SettingKey } from '../../ts/config/index.ts'
import type { Core } from '../../ts/core/port.ts'
import { batchLimits, rpcContext } from '../../ts/node/node-config.ts'
import { makeDispatch } from '../../ts/rpc/dispatch.ts'
import { type Server, startServer } from '../../ts/server/index.ts'

/** Settings by their keys, as flags give them. */
export type Flags = Partial<Record<SettingKey, string>>

/**
 * Starts the listeners with settings; with `dev`, with the defaults of `hearth dev`. The caller
 * stops the server.
 */
export async function serveCore(core: Core, flags: Flags, dev = false): Promise<Server> {
  const given = new Map(Object.entries({ 'evm.http_port': '0', 'evm.ws_port': '0', 'evm.shutdown_timeout': '0s', ...flags }))
  const { settings } = resolveSettings({ flags: given, dev })
  const dispatch = makeDispatch(rpcContext(core, settings), batchLimits(settings), () => undefined)
  return await startServer(settings, dispatch, { report: () => undefined })
}
