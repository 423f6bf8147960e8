// hearth start: serves a home that init or import made; makes no blocks.
import type { Command } from '../command.ts'
import { HOME_FLAG } from '../home.ts'
import { serve, urlsOf } from './node.ts'

export const start: Command = {
  name: 'start',
  doc: 'Serve a home over JSON-RPC. The node makes no blocks and joins no network: new blocks come from `hearth import`, and transactions are refused, or forwarded where evm.forward_url names a node.',
  flags: HOME_FLAG,
  run: (parsed, terminal) =>
    serve('start', parsed, terminal, async (server) => `hearth is ready: JSON-RPC on ${urlsOf(server).join(' and ')}\n`),
}
