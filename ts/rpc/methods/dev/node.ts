// A development node as a whole: what it says of itself, its state as one text, going back to the
// start.
import { readText } from '../../../core/results.ts'
import { boolean, data, resetOptions, url } from '../../codec/index.ts'
import { invalidParams } from '../../errors.ts'
import { json, type Method, optional, required } from '../../method.ts'
import { answering, named } from './named.ts'

const METADATA = 'Version, chain id, head, a name for this run of the node, and its snapshots, in the shape that anvil has.'

export const devNode: readonly Method[] = [
  ...named(
    'anvil_nodeInfo',
    'The head, the settings of the next block and of the fork, in the shape that anvil has; of the URL of the fork no more than its host.',
    'object: the head, the next block, the fork',
    [],
    async ({ core }) => {
      const info = await readText(core, 'nodeInfo', undefined)
      const forkUrl = core.originUrl?.()
      if (forkUrl === undefined) return info
      const { forkConfig, ...rest } = JSON.parse(info) as { readonly forkConfig: object }
      return json({ ...rest, forkConfig: { ...forkConfig, forkUrl } })
    },
    'heavy',
  ),
  ...named(
    'anvil_metadata',
    METADATA,
    'object: version, chain, snapshots',
    [],
    ({ core, clientVersion }) => core.request('metadata', { clientVersion }),
    'heavy',
  ),
  ...named(
    'hardhat_metadata',
    `${METADATA} With dev.throw_on_revert = auto, a transaction that reverts is an error from then on.`,
    'object: version, chain, snapshots',
    [],
    ({ core, clientVersion }) => core.request('metadata', { clientVersion, hardhat: true }),
    'heavy',
  ),
  ...named(
    'anvil_reset hardhat_reset',
    'Goes back to the first block and to the settings of the start; snapshots and waiting transactions are gone. With {forking: {jsonRpcUrl, blockNumber}} the chain is a fork of that node from then on; without, it is again what it was at the start. Where it fails, the chain stays as it was.',
    '`null`',
    [optional('options', resetOptions)],
    async ({ core }, forking) => {
      if (core.resetTo !== undefined) {
        await core.resetTo(forking)
        return json(null)
      }
      if (forking?.url !== undefined) throw invalidParams('forking.jsonRpcUrl: only the chain of hearth dev becomes a fork while it runs')
      return answering(core, 'reset', undefined, null)
    },
  ),
  ...named(
    'anvil_dumpState hardhat_dumpState',
    'The state after the head as gzip of JSON in hex, which anvil_loadState of this node and of anvil takes.',
    'data',
    [],
    ({ core }) => core.request('dumpState', undefined),
    'heavy',
  ),
  ...named(
    'anvil_loadState hardhat_loadState',
    'Takes over the accounts of a state that anvil_dumpState of this node or of anvil gave, and makes empty blocks until the head is as high as there; true.',
    'boolean',
    [required('state', data)],
    ({ core }, state) => core.request('loadState', { state }),
  ),
  ...named(
    'anvil_setLoggingEnabled hardhat_setLoggingEnabled',
    'Whether the console prints transactions.',
    '`null`',
    [required('enabled', boolean)],
    ({ core }, enabled) => core.request('setLoggingEnabled', { enabled }),
  ),
  ...named(
    'anvil_setRpcUrl hardhat_setRpcUrl',
    'Reads the origin of a fork from another node from now on, which must have the same block; does nothing on a chain that is no fork.',
    '`null`',
    [required('url', url)],
    async ({ core }, url) => {
      await core.moveOrigin?.(url)
      return json(null)
    },
  ),
]
