// hearth dev: a development chain that makes a block for each transaction.
import { devAccounts } from '../../core/native.ts'
import type { Core } from '../../core/port.ts'
import type { Server } from '../../server/index.ts'
import type { Command } from '../command.ts'
import { HOME_FLAG } from '../home.ts'
import { serve, urlsOf } from './node.ts'

const quantity = async (answer: Promise<Uint8Array>): Promise<bigint> => BigInt(JSON.parse(Buffer.from(await answer).toString()) as string)

async function banner(server: Server, core: Core): Promise<string> {
  const chainId = await quantity(core.request('chainId', undefined))
  const height = await quantity(core.request('blockNumber', undefined))
  const accounts = devAccounts().map(({ address, privateKey }, i) => `  (${i}) ${address}  ${privateKey}`)
  return [
    `Hearth development chain, chain id ${chainId}, block ${height}: a block for each transaction.`,
    '',
    'Funded accounts. Their keys are known to everyone: never send anything real to them.',
    ...accounts,
    '',
    `JSON-RPC is ready on ${urlsOf(server).join(' and ')}. Press Ctrl-C to stop.`,
    '',
  ].join('\n')
}

export const dev: Command = {
  name: 'dev',
  doc: 'Run a development chain with funded accounts; made on first use.',
  flags: HOME_FLAG,
  run: (parsed, terminal) => serve('dev', parsed, terminal, banner),
}
