// What a development chain says when it is ready: accounts, keys, endpoints, and what to try.

import type { Settings } from '../../config/index.ts'
import type { DevAccount } from '../../core/native.ts'
import type { Core } from '../../core/port.ts'
import { readJson } from '../../core/results.ts'
import { type Origin, shownUrl } from '../../fork/index.ts'
import { servesExplorer } from '../../node/explorer.ts'
import type { Server } from '../../server/index.ts'
import { urlsOf } from '../commands/node.ts'

/** A chain that is ready. */
export interface ReadyChain {
  readonly server: Server
  readonly core: Core
  readonly accounts: readonly DevAccount[]
  readonly settings: Settings
  readonly origin: Origin | undefined
}

const quantity = async (answer: Promise<string>): Promise<bigint> => BigInt(await answer)

/** Where the explorer is; undefined where the node serves none. */
export const explorerUrl = ({ server, settings }: Pick<ReadyChain, 'server' | 'settings'>): string | undefined =>
  servesExplorer('dev', settings) ? server.httpUrl : undefined

/** How blocks come. */
function mining(settings: Settings): string {
  const every = settings['dev.block_time']
  if (settings['dev.no_mining']) return 'blocks on demand'
  if (every === 'none') return 'a block for each transaction'
  return `a block every ${every / 1000} s${settings['dev.mixed_mining'] ? ', and for each transaction' : ''}`
}

/** A request with curl. */
const curl = (url: string, method: string, params: readonly unknown[]): string =>
  `  curl -s ${url} -H 'content-type: application/json' -d '${JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })}'`

/** Three requests to try, the last of which traces a call. */
function tries(url: string, accounts: readonly DevAccount[]): string[] {
  const [from, to] = [accounts[0]?.address, accounts[1]?.address ?? accounts[0]?.address]
  return [
    curl(url, 'eth_getBalance', [from, 'latest']),
    curl(url, 'eth_sendTransaction', [{ from, to, value: '0xde0b6b3a7640000' }]),
    curl(url, 'debug_traceBlockByNumber', ['latest', { tracer: 'callTracer' }]),
  ]
}

/** Lines for a reader. The last one says that the node is ready. */
export async function banner({ server, core, accounts, settings, origin }: ReadyChain): Promise<string> {
  const explorer = explorerUrl({ server, settings })
  const chainId = await quantity(readJson(core, 'chainId', undefined))
  const height = await quantity(readJson(core, 'blockNumber', undefined))
  const fork = origin === undefined ? '' : ` A fork of ${shownUrl(origin.url)} after block ${Number(origin.block.number)}.`
  return [
    `Hearth development chain, chain id ${chainId}, block ${height}: ${mining(settings)}.${fork}`,
    '',
    `Funded accounts, ${settings['dev.balance']} ether each. Their keys are known to everyone: never send anything real to them.`,
    ...accounts.map(({ address, privateKey }, i) => `  (${i}) ${address}  ${privateKey}`),
    `Mnemonic: ${settings['dev.mnemonic']}`,
    '',
    ...(server.httpUrl === undefined ? [] : ['Try:', ...tries(server.httpUrl, accounts), '']),
    ...(explorer === undefined ? [] : [`Open ${explorer} in a browser to look at blocks and traces.`]),
    `JSON-RPC is ready on ${urlsOf(server).join(' and ')}. Press Ctrl-C to stop.`,
    '',
  ].join('\n')
}

/** The same for a program. */
export async function readyEvent({ server, core, accounts, settings, origin }: ReadyChain): Promise<object> {
  return {
    event: 'ready',
    chainId: Number(await quantity(readJson(core, 'chainId', undefined))),
    block: Number(await quantity(readJson(core, 'blockNumber', undefined))),
    httpUrl: server.httpUrl ?? null,
    wsUrl: server.wsUrl ?? null,
    accounts,
    mnemonic: settings['dev.mnemonic'],
    fork: origin === undefined ? null : { chainId: origin.chainId, block: Number(origin.block.number), hash: origin.block.hash },
  }
}
