// The core's configuration of the development chain.
import type { Settings } from '../../config/index.ts'
import type { DevConfig } from '../../core/config.ts'

/** Gas limit of blocks where nothing says another. */
const GAS_LIMIT = 30_000_000

/** Wei of an ether, as digits behind its point. */
const ETHER_DIGITS = 18

/** Ether as text in wei. */
export function weiOf(ether: string): string {
  const [whole = '0', part = ''] = ether.split('.')
  return BigInt(whole + part.padEnd(ETHER_DIGITS, '0')).toString()
}

/** Bytes of the largest contract; undefined: the limit of EIP-170. */
const codeSizeLimit = (limit: Settings['dev.code_size_limit']): number | undefined =>
  limit === 'auto' ? undefined : limit === 'none' ? Number.MAX_SAFE_INTEGER : limit

const unless = <W extends string, V>(word: W, value: V | W): Exclude<V, W> | undefined =>
  value === word ? undefined : (value as Exclude<V, W>)

/**
 * The chain's part of the configuration. A fork has gas limit and chain id of its origin unless
 * settings replace them.
 */
export function devConfig(settings: Settings, origin?: { readonly chainId: number; readonly gasLimit: number }): DevConfig {
  return {
    gasLimit: unless('auto', settings['dev.gas_limit']) ?? origin?.gasLimit ?? GAS_LIMIT,
    chainId: unless('auto', settings['dev.chain_id']) ?? origin?.chainId,
    hardfork: unless('auto', settings['dev.hardfork']),
    baseFeeWei: unless('auto', settings['dev.base_fee']),
    timestamp: unless('now', settings['dev.timestamp']),
    accounts: settings['dev.accounts'],
    mnemonic: settings['dev.mnemonic'],
    balanceWei: weiOf(settings['dev.balance']),
    blockTimeMs: unless('none', settings['dev.block_time']),
    mixedMining: settings['dev.mixed_mining'],
    noMining: settings['dev.no_mining'],
    order: settings['dev.order'],
    autoImpersonate: settings['dev.auto_impersonate'],
    codeSizeLimit: codeSizeLimit(settings['dev.code_size_limit']),
    throwOnRevert: unless('auto', settings['dev.throw_on_revert']),
  }
}
