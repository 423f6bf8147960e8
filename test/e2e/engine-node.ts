// A home and a node that a consensus client drives; the chain is of one fork from its genesis on.
import fs from 'node:fs'
import path from 'node:path'
import { expect } from 'vitest'
import { PREDEPLOYS } from '../../ts/consensus/predeploys.ts'
import { ConsensusClient } from './engine-client.ts'
import { hearth, type RunningNode, rpc, startNode, tempHome } from './harness.ts'

/** Time of block 0, in seconds. */
export const GENESIS_TIME = 1_700_000_000

const FORKS = ['homestead', 'eip150', 'eip155', 'eip158', 'byzantium', 'constantinople', 'petersburg', 'istanbul', 'berlin', 'london']

/** Forks by time, the earliest first; `paris` has none of them. */
const TIMED_FORKS = ['paris', 'shanghai', 'cancun', 'prague', 'osaka'] as const
export type TimedFork = (typeof TIMED_FORKS)[number]

const genesisOf = (fork: TimedFork, alloc: object): object => ({
  config: {
    chainId: 31_337,
    ...Object.fromEntries(FORKS.map((name) => [`${name}Block`, 0])),
    terminalTotalDifficulty: 0,
    ...Object.fromEntries(TIMED_FORKS.slice(1, TIMED_FORKS.indexOf(fork) + 1).map((name) => [`${name}Time`, 0])),
  },
  timestamp: `0x${GENESIS_TIME.toString(16)}`,
  gasLimit: '0x1c9c380',
  difficulty: '0x0',
  baseFeePerGas: '0x7',
  alloc,
})

/** The system contracts that the forks from Prague on need. */
const SYSTEM_CONTRACTS = Object.fromEntries(PREDEPLOYS.map(({ address, code }) => [address, { nonce: '0x1', balance: '0x0', code }]))

/** A new home whose chain is of a fork, with the accounts of a genesis. */
export function newHome(fork: TimedFork = 'cancun', alloc: object = SYSTEM_CONTRACTS): string {
  const home = tempHome()
  const file = path.join(home, 'genesis-of-test.json')
  fs.writeFileSync(file, JSON.stringify(genesisOf(fork, alloc)))
  const made = hearth(['init', '--home', home, '--genesis', file])
  expect(made.status, made.stderr).toBe(0)
  return home
}

/** The file of the secret of a home's tokens. */
export const secretFile = (home: string): string => path.join(home, 'config/jwt.hex')
export const secretOf = (home: string): Buffer => Buffer.from(fs.readFileSync(secretFile(home), 'utf8').trim().slice(2), 'hex')

/** A node with its consensus client. */
export interface Driven {
  readonly node: RunningNode
  readonly consensus: ConsensusClient
}

/** Starts a node with the Engine API. */
export async function drive(home: string, ...settings: string[]): Promise<Driven> {
  const node = await startNode(['start', '--home', home, '--engine', '--engine.port=0', ...settings])
  const url = /(http:\/\/\S+) \(Engine API\)/.exec(node.log())?.[1] ?? ''
  return { node, consensus: new ConsensusClient(url, secretOf(home)) }
}

/** Hash and number of a block. */
export const blockOf = async (node: RunningNode, tag: string): Promise<{ hash: string; number: string }> =>
  (await rpc(node.url, 'eth_getBlockByNumber', [tag, false])).result as { hash: string; number: string }
