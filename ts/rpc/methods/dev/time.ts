// The clock of a development chain, and points to go back to.
import { number64, number256 } from '../../codec/index.ts'
import type { Method } from '../../method.ts'
import { required } from '../../method.ts'
import { named } from './named.ts'

const THOUSAND = 1000n

export const devTime: readonly Method[] = [
  ...named(
    'evm_increaseTime anvil_increaseTime',
    "Moves the clock forward by so many seconds; the seconds by which it goes before the machine's, as a number.",
    'number',
    [required('seconds', number64)],
    ({ core }, seconds) => core.request('increaseTime', { seconds }),
  ),
  ...named(
    'evm_setNextBlockTimestamp anvil_setNextBlockTimestamp',
    'Sets the time of the next block, in seconds; the clock continues from there.',
    '`null`',
    [required('timestamp', number64)],
    ({ core }, timestamp) => core.request('setNextBlockTimestamp', { timestamp }),
  ),
  ...named(
    'evm_setTime anvil_setTime',
    'Sets the clock, in seconds; the seconds by which it was moved, as a number.',
    'number',
    [required('timestamp', number64)],
    ({ core }, timestamp) => core.request('setTime', { timestamp }),
  ),
  ...named(
    'anvil_setBlockTimestampInterval',
    'So many seconds lie between the times of two blocks from now on, whatever the clock says.',
    '`null`',
    [required('seconds', number64)],
    ({ core }, seconds) => core.request('setBlockTimestampInterval', { seconds }),
  ),
  ...named(
    'hardhat_setBlockTimestampInterval',
    'As anvil_setBlockTimestampInterval, in milliseconds: so viem sends it to Hardhat.',
    '`null`',
    [required('milliseconds', number64)],
    ({ core }, milliseconds) =>
      core.request('setBlockTimestampInterval', { seconds: `0x${(BigInt(milliseconds) / THOUSAND).toString(16)}` }),
  ),
  ...named(
    'anvil_removeBlockTimestampInterval hardhat_removeBlockTimestampInterval',
    'The clock decides on the times of blocks again; whether it did not before.',
    'boolean',
    [],
    ({ core }) => core.request('removeBlockTimestampInterval', undefined),
  ),
  ...named(
    'evm_snapshot anvil_snapshot',
    'Keeps blocks, state, time and waiting transactions as they are, to go back to; the number of the snapshot.',
    'quantity',
    [],
    ({ core }) => core.request('snapshot', undefined),
  ),
  ...named(
    'evm_revert anvil_revert',
    'Goes back to a snapshot, which is gone then, as are later ones; false if no snapshot has this number.',
    'boolean',
    [required('id', number256)],
    ({ core }, id) => core.request('revert', { id }),
  ),
]
