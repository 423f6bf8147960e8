// hearth start: serves a home that init or import made; produces no blocks.
import type { Command } from '../command.ts'
import { HOME_FLAG } from '../home.ts'
import { serve, urlsOf } from './node.ts'

export const start: Command = {
  name: 'start',
  doc: 'Serve a home over JSON-RPC. Produces no blocks.',
  flags: HOME_FLAG,
  run: (parsed, terminal) =>
    serve('start', parsed, terminal, async (server) => `hearth is ready: JSON-RPC on ${urlsOf(server).join(' and ')}\n`),
}
