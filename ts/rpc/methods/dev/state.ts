// The state of a development chain, changed without a transaction.
import { address, data, number64, number256, word256 } from '../../codec/index.ts'
import type { Method } from '../../method.ts'
import { required } from '../../method.ts'
import { named } from './named.ts'

export const devState: readonly Method[] = [
  ...named(
    'anvil_setBalance hardhat_setBalance tenderly_setBalance',
    "Sets an account's balance, in wei.",
    '`null`',
    [required('address', address), required('balance', number256)],
    ({ core }, address, balance) => core.request('setBalance', { address, balance }),
  ),
  ...named(
    'anvil_addBalance hardhat_addBalance tenderly_addBalance',
    "Adds to an account's balance, in wei.",
    '`null`',
    [required('address', address), required('balance', number256)],
    ({ core }, address, balance) => core.request('addBalance', { address, balance }),
  ),
  ...named(
    'anvil_setCode hardhat_setCode',
    "Sets an account's code; none where it is empty.",
    '`null`',
    [required('address', address), required('code', data)],
    ({ core }, address, code) => core.request('setCode', { address, code }),
  ),
  ...named(
    'anvil_setNonce hardhat_setNonce evm_setAccountNonce',
    "Sets an account's nonce.",
    '`null`',
    [required('address', address), required('nonce', number64)],
    ({ core }, address, nonce) => core.request('setNonce', { address, nonce }),
  ),
  ...named(
    'anvil_setStorageAt hardhat_setStorageAt',
    'Sets a storage slot; true.',
    'boolean',
    [required('address', address), required('slot', number256), required('value', word256)],
    ({ core }, address, slot, value) => core.request('setStorageAt', { address, slot, value }),
  ),
  ...named(
    'anvil_dealERC20 anvil_setERC20Balance hardhat_dealERC20 tenderly_setErc20Balance',
    "Sets an account's balance of a token: in the storage slot that its balanceOf reads, which is found by trying.",
    '`null`',
    [required('address', address), required('token', address), required('balance', number256)],
    ({ core }, address, token, balance) => core.request('dealErc20', { address, token, balance }),
  ),
  ...named(
    'anvil_setERC20Allowance',
    "Sets what a spender may take of an owner's tokens, as anvil_dealERC20.",
    '`null`',
    [required('owner', address), required('spender', address), required('token', address), required('amount', number256)],
    ({ core }, owner, spender, token, amount) => core.request('setErc20Allowance', { owner, spender, token, amount }),
  ),
]
