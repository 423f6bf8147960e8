// hearth start: serves a home that init or import made; produces no blocks.
import type { Command } from '../command.ts'
import { HOME_FLAG } from '../home.ts'
import { serve } from './node.ts'

export const start: Command = {
  name: 'start',
  doc: 'Serve a home over JSON-RPC. Produces no blocks.',
  flags: HOME_FLAG,
  run: (parsed, terminal) =>
    serve('start', parsed, terminal, async ({ httpUrl, wsUrl }) => `hearth is ready: JSON-RPC on ${httpUrl} and ${wsUrl}\n`),
}
