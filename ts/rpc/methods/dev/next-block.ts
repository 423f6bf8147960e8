// What the next blocks of a development chain are to be like.
import { address, hash, number64, number256 } from '../../codec/index.ts'
import type { Method } from '../../method.ts'
import { required } from '../../method.ts'
import { named } from './named.ts'

export const devNextBlock: readonly Method[] = [
  ...named(
    'anvil_setNextBlockBaseFeePerGas hardhat_setNextBlockBaseFeePerGas',
    'Sets the base fee of the next block, in wei.',
    '`null`',
    [required('baseFee', number256)],
    ({ core }, fee) => core.request('setNextBlockBaseFee', { fee }),
  ),
  ...named(
    'anvil_setMinGasPrice hardhat_setMinGasPrice',
    'Sets the lowest price of gas, in wei; refused where blocks have base fees.',
    '`null`',
    [required('price', number256)],
    ({ core }, price) => core.request('setMinGasPrice', { price }),
  ),
  ...named(
    'evm_setBlockGasLimit anvil_setBlockGasLimit',
    'Sets the gas limit of the blocks to come; true.',
    'boolean',
    [required('limit', number64)],
    ({ core }, limit) => core.request('setBlockGasLimit', { limit }),
  ),
  ...named(
    'anvil_setCoinbase hardhat_setCoinbase',
    'Sets who gets the tips of the blocks to come.',
    '`null`',
    [required('address', address)],
    ({ core }, address) => core.request('setCoinbase', { address }),
  ),
  ...named(
    'anvil_setChainId hardhat_setChainId',
    'Sets the chain id of the blocks to come, of calls and of transactions; waiting ones of another id are dropped. Blocks that are there keep theirs, in their traces too. It outlives snapshots and resets, as with anvil.',
    '`null`',
    [required('id', number64)],
    ({ core }, id) => core.request('setChainId', { id }),
  ),
  ...named('hardhat_setPrevRandao', 'Sets the randomness of the next block.', '`null`', [required('value', hash)], ({ core }, value) =>
    core.request('setPrevRandao', { value }),
  ),
]
