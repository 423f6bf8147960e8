// hearth init: makes a home: its settings file and, with a genesis, the first block of its chain.
import fs from 'node:fs'
import { storage } from '../../node/node-config.ts'
import { settingsFile } from '../../node/settings-file.ts'
import { UsageError } from '../args.ts'
import type { Command } from '../command.ts'
import { COMMAND_DOCS } from '../command-docs.ts'
import { NETWORK_FLAGS } from '../consensus/flags.ts'
import { HOME_FLAG, homeOf, makeHome, STORE_SETTINGS, settingsOf, writeSettingsFile } from '../home.ts'
import { inputFile, runJob, STOPPED_EXIT } from './job.ts'

/** Flags that go with --cometbft alone. */
const OF_COMETBFT = [...Object.keys(NETWORK_FLAGS), 'operator', 'join', 'trust-height', 'trust-hash']

export const init: Command = {
  name: 'init',
  doc: COMMAND_DOCS.init,
  more: [
    'With --cometbft the blocks come from a network of validators: the data directory gets keys',
    'and settings of CometBFT in its folder cometbft, for a new network with this node as its only',
    'validator, or with --join for a network that runs.',
  ],
  flags: {
    ...HOME_FLAG,
    genesis: { value: 'FILE', doc: 'Genesis in go-ethereum format.' },
    cometbft: { doc: 'The chain runs under CometBFT. Without --genesis: a new one, rules of Osaka.' },
    ...NETWORK_FLAGS,
    operator: {
      value: 'ADDRESS',
      doc: 'Account of the new validator: it owns the first stake and gets the fees. Default: the address of the consensus key, which no account key controls.',
    },
    join: { value: 'URL[,URL…]', doc: 'Join the network of a node, by the RPC of its CometBFT, such as http://203.0.113.5:26657.' },
    'trust-height': {
      value: 'H',
      doc: 'With --trust-hash: start from a snapshot of the network, checked against this header (state sync).',
    },
    'trust-hash': { value: 'HEX', doc: 'Hash of the block of CometBFT at --trust-height, from a source that you trust.' },
  },
  settings: STORE_SETTINGS,
  async run(parsed, terminal) {
    const home = homeOf(parsed)
    const { settings } = settingsOf(parsed, home, terminal)
    if (parsed.flags.has('cometbft')) return await (await import('../consensus/init.ts')).initNetwork(parsed, home, settings, terminal)
    const alone = OF_COMETBFT.find((name) => parsed.flags.has(name))
    if (alone !== undefined) throw new UsageError(`--${alone} goes with --cometbft`)
    const genesis = parsed.flags.get('genesis')
    const genesisFile = genesis === undefined ? undefined : inputFile(genesis, 'the genesis file')
    const file = settingsFile(home)
    makeHome(home)
    if (!fs.existsSync(file)) writeSettingsFile(file)
    terminal.out(`settings: ${file}\n`)
    if (genesisFile !== undefined) {
      const done = await runJob({ job: 'init', genesis: genesisFile, ...storage(home, settings) }, terminal)
      if (done === undefined) return STOPPED_EXIT
      terminal.out(`genesis: ${done.result.head?.hash}\n`)
    }
    return 0
  },
}
