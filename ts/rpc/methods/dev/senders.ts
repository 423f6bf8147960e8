// Transactions of a development chain: in whose names they are sent, and how they are dropped.
import { readBytes } from '../../../core/results.ts'
import { address, boolean, hash, transaction } from '../../codec/index.ts'
import { json, type Method, required } from '../../method.ts'
import { named } from './named.ts'

const isNull = (answer: Uint8Array): boolean => Buffer.from(answer).toString() === 'null'

export const devSenders: readonly Method[] = [
  ...named(
    'anvil_impersonateAccount hardhat_impersonateAccount',
    'Lets eth_sendTransaction send from an account whose key is not here, a contract included.',
    '`null`',
    [required('address', address)],
    ({ core }, address) => core.request('impersonate', { address }),
  ),
  ...named(
    'anvil_stopImpersonatingAccount hardhat_stopImpersonatingAccount',
    'Ends what anvil_impersonateAccount began.',
    '`null`',
    [required('address', address)],
    ({ core }, address) => core.request('stopImpersonating', { address }),
  ),
  ...named(
    'anvil_autoImpersonateAccount hardhat_autoImpersonateAccount',
    'Whether eth_sendTransaction sends from any account.',
    '`null`',
    [required('enabled', boolean)],
    ({ core }, enabled) => core.request('autoImpersonate', { enabled }),
  ),
  ...named(
    'eth_sendUnsignedTransaction',
    'Sends a transaction in the name of its sender without a signature; its hash. The development chain alone has it.',
    'hash',
    [required('transaction', transaction)],
    ({ core }, transaction) => core.request('sendUnsignedTransaction', { transaction }),
  ),
  ...named(
    'anvil_dropTransaction',
    'Drops a waiting transaction; its hash, or null where it does not wait.',
    'hash, or `null`',
    [required('hash', hash)],
    ({ core }, hash) => core.request('dropTransaction', { hash }),
  ),
  ...named(
    'hardhat_dropTransaction',
    'Drops a waiting transaction; whether it waited.',
    'boolean',
    [required('hash', hash)],
    async ({ core }, hash) => json(!isNull(await readBytes(core, 'dropTransaction', { hash }))),
  ),
  ...named('anvil_dropAllTransactions hardhat_dropAllTransactions', 'Drops all waiting transactions.', '`null`', [], ({ core }) =>
    core.request('dropAllTransactions', undefined),
  ),
  ...named(
    'anvil_removePoolTransactions',
    'Drops the waiting transactions of an account.',
    '`null`',
    [required('address', address)],
    ({ core }, address) => core.request('removePoolTransactions', { address }),
  ),
]
