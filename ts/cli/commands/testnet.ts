// hearth testnet: homes for a network of several nodes on one machine.
import fs from 'node:fs'
import path from 'node:path'
import { UsageError } from '../args.ts'
import type { Command } from '../command.ts'
import { COMMAND_DOCS } from '../command-docs.ts'
import { NETWORK_FLAGS, numberFlag, TESTNET_UNBONDING_SECONDS } from '../consensus/flags.ts'
import { STORE_SETTINGS } from '../home.ts'
import { required } from './db/task.ts'
import { STOPPED_EXIT } from './job.ts'

/** Nodes of a network on one machine, at most. */
const NODES_MAX = 100

/** First port where none is named. */
const BASE_PORT = 26_700

export const testnet: Command = {
  name: 'testnet',
  doc: COMMAND_DOCS.testnet,
  more: [
    'Each node has a folder in DIR (node0 …, follower0 …) and is started with `hearth start --home`.',
    'DIR/testnet.json lists them with their ports: node i has p2p, rpc, http, ws, metrics, grpc and rest',
    'at the base port + 10 i and the six after it, all on loopback addresses.',
  ],
  flags: {
    dir: { value: 'DIR', doc: 'New folder of the nodes.' },
    validators: { value: 'V', doc: 'Number of validators. Default: 4, so that one may fail.' },
    followers: { value: 'F', doc: 'Number of nodes that do not vote. Default: 0.' },
    'base-port': { value: 'PORT', doc: `First port. Default: ${BASE_PORT}.` },
    'unbonding-seconds': { value: 'SECONDS', doc: `Unbonding time of stake. Default: ${TESTNET_UNBONDING_SECONDS}.` },
    genesis: { value: 'FILE', doc: 'Genesis in go-ethereum format, in place of a new one.' },
    'from-home': {
      value: 'HOME',
      doc: 'Data directory of a chain that becomes the network: it continues after its head. No node may run on it.',
    },
    ...NETWORK_FLAGS,
  },
  settings: STORE_SETTINGS,
  async run(parsed, terminal) {
    const dir = path.resolve(required(parsed, 'dir'))
    const validators = numberFlag(parsed, 'validators', 1, NODES_MAX) ?? 4
    const followers = numberFlag(parsed, 'followers', 0, NODES_MAX - validators) ?? 0
    const { makeTestnet } = await import('../consensus/testnet.ts')
    if (fs.existsSync(dir) && fs.readdirSync(dir).length > 0) throw new UsageError(`${dir} is not empty: name a new folder with --dir`)
    const isDone = await makeTestnet(parsed, { dir, validators, followers, basePort: BASE_PORT }, terminal)
    return isDone ? 0 : STOPPED_EXIT
  },
}
