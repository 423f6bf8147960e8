// Blocks of a development chain: made, taken back, replaced; when they are made by themselves.
import { blockInterval, boolean, mineOptions, number64, reorgPairs } from '../../codec/index.ts'
import type { Method } from '../../method.ts'
import { optional, required } from '../../method.ts'
import { answering, named } from './named.ts'

const hex = (n: number): string => `0x${n.toString(16)}`

export const devBlocks: readonly Method[] = [
  ...named(
    'evm_mine',
    'Makes a block of what waits, at a time in seconds if one is given; or so many blocks, given as {timestamp, blocks}. Answers "0x0".',
    'quantity',
    [optional('options', mineOptions)],
    ({ core }, options) => answering(core, 'mine', { ...options }, '0x0'),
  ),
  ...named(
    'anvil_mine',
    'Makes so many blocks (1), each so many seconds after the one before it, the first one included; by the clock where that is 0.',
    '`null`',
    [optional('count', number64), optional('interval', number64)],
    // viem sends 0 where it is given nothing.
    ({ core }, count, interval) => core.request('mine', { count, interval: Number(interval) === 0 ? undefined : interval, first: true }),
  ),
  ...named(
    'hardhat_mine',
    'Makes so many blocks (1), each so many seconds after the one before it; the time of the first one is that of the clock.',
    'boolean',
    [optional('count', number64), optional('interval', number64)],
    ({ core }, count, interval) => answering(core, 'mine', { count, interval }, true),
  ),
  ...named(
    'evm_mine_detailed anvil_mine_detailed',
    'As evm_mine; the new blocks with their transactions.',
    'block[]',
    [optional('options', mineOptions)],
    ({ core }, options) => core.request('mineDetailed', { ...options }),
  ),
  ...named(
    'anvil_rollback',
    'Takes the last blocks (1) back. Their transactions are gone with them.',
    '`null`',
    [optional('depth', number64)],
    ({ core }, depth) => core.request('rollback', { depth: depth ?? '0x1' }),
  ),
  ...named(
    'anvil_reorg',
    'Replaces the last blocks by as many others that hold these transactions, each with the number of its block from 0. Transactions of the blocks that go wait again.',
    '`null`',
    [required('depth', number64), required('pairs', reorgPairs)],
    ({ core }, depth, transactions) => core.request('reorg', { depth, transactions }),
  ),
  ...named(
    'evm_setAutomine anvil_setAutomine',
    'Whether every transaction gets a block at once. Switched on, it ends blocks at an interval, and makes blocks of what waits.',
    '`null`',
    [required('enabled', boolean)],
    ({ core }, enabled) => core.request('setAutomine', { enabled }),
  ),
  ...named(
    'anvil_getAutomine hardhat_getAutomine',
    'Whether every transaction gets a block at once.',
    'boolean',
    [],
    ({ core }) => core.request('getAutomine', undefined),
    'read',
  ),
  ...named(
    'evm_setIntervalMining anvil_setIntervalMining',
    'Makes a block every so many seconds, and none for transactions; 0 ends that, and automine is as it was before. A list of two numbers is a range in milliseconds.',
    '`null`',
    [required('interval', blockInterval)],
    ({ core }, milliseconds) => core.request('setIntervalMining', { milliseconds: hex(milliseconds) }),
  ),
  ...named(
    'anvil_getIntervalMining',
    'Seconds between two blocks that are made by themselves, or null.',
    'number of seconds, or `null`',
    [],
    ({ core }) => core.request('getIntervalMining', undefined),
    'read',
  ),
]
