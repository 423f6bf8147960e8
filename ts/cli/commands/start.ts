// hearth start: serves a home that init or import made; makes no blocks.
import type { Command } from '../command.ts'
import { COMMAND_DOCS } from '../command-docs.ts'
import { HOME_FLAG, LISTEN_FLAGS } from '../home.ts'
import { serve, urlsOf } from './node.ts'

export const start: Command = {
  name: 'start',
  doc: COMMAND_DOCS.start,
  more: [
    'The node joins no network: new blocks come from `hearth import`, and transactions are refused, or',
    'forwarded where evm.forward_url names a node. With --engine a consensus client drives it. A data',
    'directory of `hearth init --cometbft` or `hearth testnet` is different: CometBFT is started, and',
    'the node takes part in its network.',
  ],
  flags: {
    ...HOME_FLAG,
    ...LISTEN_FLAGS,
    engine: { settings: ['engine.enabled'], doc: 'Serve the Engine API on port 8551: a consensus client drives this node.' },
  },
  settings: [
    'evm.namespaces',
    'evm.cors_origins',
    'evm.allowed_hosts',
    'evm.auth_token_file',
    'evm.trace_bake_enabled',
    'evm.forward_url',
    'engine.port',
    'evm.max_open_connections',
    'evm.rate_limiting_enabled',
    'evm.simulation_gas_limit',
    'evm.max_log_no_block',
  ],
  serves: true,
  run: (parsed, terminal) =>
    serve('start', parsed, terminal, async (server) => `hearth is ready: JSON-RPC on ${urlsOf(server).join(' and ')}\n`),
}
