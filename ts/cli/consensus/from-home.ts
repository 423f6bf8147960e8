// hearth testnet --from-home: a chain that was imported becomes a network, which continues after
// its head.

import fs from 'node:fs'
import path from 'node:path'
import type { Settings } from '../../config/index.ts'
import { type EthGenesis, parseGenesis, underCometbftFrom, writeJson } from '../../consensus/eth-genesis.ts'
import type { ChainHead } from '../../consensus/genesis.ts'
import { openNode, startDbTask } from '../../core/native.ts'
import { readAs } from '../../core/results.ts'
import { nodeConfig, storage } from '../../node/node-config.ts'
import { type Parsed, UsageError } from '../args.ts'
import type { Terminal } from '../command.ts'
import { finishJob } from '../commands/job.ts'
import { type NewHome, writeNodeFiles } from './make-home.ts'

/** What describes a new chain. */
const OF_NEW = ['genesis', 'chain-id', 'dev-accounts', 'commitment']

/** Where the copies are made, below the folder of the network. */
const COPIES = 'copies'

/** Files of config/ that say which chain a home has; the others belong to the node that had it. */
const OF_CHAIN = ['genesis.json', 'chain.json']

/** A chain that becomes a network. */
export interface ChainSource {
  /** Its genesis, with the first height of CometBFT in it. */
  readonly appState: EthGenesis
  readonly head: ChainHead
  /** Makes the home of a node; false where a signal stopped it. */
  copyTo(made: NewHome): Promise<boolean>
  /** Removes copies that no node has. */
  remove(): void
}

/** Checks that a home can become a network, and reads its genesis. Throws `UsageError`. */
function genesisOfHome(from: string): EthGenesis {
  const [chain, genesis] = OF_CHAIN.toReversed().map((name) => path.join(from, 'config', name)) as [string, string]
  if (!fs.existsSync(chain))
    throw new UsageError(`--from-home ${from} is no data directory: \`hearth import\` or \`hearth init\` makes one`)
  const { rules } = JSON.parse(fs.readFileSync(chain, 'utf8')) as { rules?: string }
  if (rules !== 'genesis' || !fs.existsSync(genesis))
    throw new UsageError(
      `--from-home ${from} has the rules of another chain (${rules}): only a chain with a genesis of its own becomes a network`,
    )
  const text = parseGenesis(fs.readFileSync(genesis, 'utf8'))
  const config = text.config as { bft?: unknown; terminalTotalDifficulty?: unknown; chainIdInExtraData?: unknown } | undefined
  if (config?.bft !== undefined)
    throw new UsageError(`--from-home ${from} is under CometBFT already: join its network with \`hearth init --cometbft --join\``)
  if (config?.chainIdInExtraData === true)
    throw new UsageError(
      `--from-home ${from} is a development chain, whose extra data is its chain id: import its blocks with a genesis without config.chainIdInExtraData`,
    )
  if (config?.terminalTotalDifficulty === undefined)
    throw new UsageError(
      `--from-home ${from} has a chain of proof of work: a network needs terminalTotalDifficulty in the config of the genesis`,
    )
  return text
}

/** The head of a data directory that no node has open. */
async function headOf(home: string, settings: Settings): Promise<ChainHead> {
  const core = await openNode({ ...nodeConfig(home, 'start', settings), scripts: null })
  try {
    const latest = { block: 'latest', full: false }
    const block = await readAs<Record<'number' | 'gasLimit' | 'timestamp', string>>(core, 'getBlockByNumber', latest)
    return { height: Number(block.number), gasLimit: BigInt(block.gasLimit), time: Number(block.timestamp) }
  } finally {
    await core.close()
  }
}

/** The chain that `--from-home` names; undefined without the flag, `stopped` where a signal came.
 * Throws `UsageError`. */
export async function chainSource(
  parsed: Parsed,
  dir: string,
  settings: Settings,
  terminal: Terminal,
): Promise<ChainSource | 'stopped' | undefined> {
  const flag = parsed.flags.get('from-home')
  if (flag === undefined) return undefined
  const other = OF_NEW.find((name) => parsed.flags.has(name))
  if (other !== undefined) throw new UsageError(`--from-home takes the chain of a data directory: leave --${other} out`)
  const from = path.resolve(flag)
  const genesis = genesisOfHome(from)
  const copies = path.join(dir, COPIES)
  const remove = (): void => fs.rmSync(copies, { recursive: true, force: true })
  /** A copy of the data directory, in a folder of `copies`; undefined where a signal came. */
  const copy = async (): Promise<string | undefined> =>
    (await finishJob(startDbTask(storage(from, settings), 'backup', { to: copies, copy: false, keep: undefined }), terminal))?.result.dir
  try {
    let ready = await copy()
    if (ready === undefined) {
      remove()
      return 'stopped'
    }
    const head = await headOf(ready, settings)
    const appState = underCometbftFrom(genesis, head.height + 1)
    const copyTo = async (made: NewHome): Promise<boolean> => {
      const place = ready ?? (await copy())
      ready = undefined
      if (place === undefined) return false
      fs.renameSync(place, made.home)
      const config = path.join(made.home, 'config')
      for (const name of fs.readdirSync(config)) if (!OF_CHAIN.includes(name)) fs.rmSync(path.join(config, name), { recursive: true })
      fs.writeFileSync(path.join(config, 'genesis.json'), writeJson(appState))
      writeNodeFiles(made)
      return true
    }
    return { appState, head, copyTo, remove }
  } catch (e) {
    remove()
    throw e
  }
}
