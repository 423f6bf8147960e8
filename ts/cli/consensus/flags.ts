// Flags of the commands that make homes for CometBFT, and the genesis that they describe.
import fs from 'node:fs'
import type { Settings } from '../../config/index.ts'
import {
  COMMITMENTS,
  DEFAULT_CHAIN_ID,
  developmentGenesis,
  type EthGenesis,
  factsOf,
  parseGenesis,
  underCometbft,
  withCommitment,
  withFunds,
  withStaking,
} from '../../consensus/eth-genesis.ts'
import { type GenesisValidator, POWER } from '../../consensus/genesis.ts'
import { validatorAddress } from '../../consensus/keys.ts'
import { devAccounts, stakingAccount } from '../../core/native.ts'
import { weiOf } from '../../node/core-fields.ts'
import { type Flag, type Parsed, UsageError } from '../args.ts'
import { inputFile } from '../commands/job.ts'

/** Most accounts that a genesis funds: what the core derives of a phrase. */
const ACCOUNTS_MAX = 10_000

/** What a new network is. */
export const NETWORK_FLAGS: Readonly<Record<string, Flag>> = {
  'chain-id': { value: 'N', doc: `Chain id of the new network; CometBFT names it hearth-N. Default: ${DEFAULT_CHAIN_ID}.` },
  'dev-accounts': {
    value: 'N',
    doc: 'Funds the first N accounts of dev.mnemonic with dev.balance ether each. Their keys are public: for development alone. Default: 0.',
  },
  commitment: {
    value: 'NAME',
    doc: 'State root of the new network: mpt, or lthash without proofs. Default: mpt.',
  },
}

/** A whole number of a flag; undefined where the flag is absent. */
export function numberFlag(parsed: Parsed, name: string, min: number, max: number): number | undefined {
  const text = parsed.flags.get(name)
  if (text === undefined) return undefined
  const n = Number(text)
  if (!/^\d+$/.test(text) || n < min || n > max)
    throw new UsageError(`--${name} takes a whole number from ${min} to ${max}, not ${JSON.stringify(text)}`)
  return n
}

/** The genesis with the commitment of the flag. */
function commitmentOf(parsed: Parsed, genesis: EthGenesis): EthGenesis {
  const name = parsed.flags.get('commitment')
  if (name === undefined) return genesis
  const commitment = COMMITMENTS.find((one) => one === name)
  if (commitment === undefined) throw new UsageError(`--commitment takes ${COMMITMENTS.join(' or ')}, not ${JSON.stringify(name)}`)
  return withCommitment(genesis, commitment)
}

/** The genesis that the flags of a new network describe. `now` is in milliseconds since 1970. */
export function genesisOf(parsed: Parsed, settings: Settings, now: number): EthGenesis {
  const chainId = numberFlag(parsed, 'chain-id', 1, Number.MAX_SAFE_INTEGER)
  const count = numberFlag(parsed, 'dev-accounts', 0, ACCOUNTS_MAX) ?? 0
  const file = parsed.flags.get('genesis')
  const genesis =
    file === undefined
      ? developmentGenesis(chainId ?? DEFAULT_CHAIN_ID, Math.floor(now / 1000))
      : underCometbft(parseGenesis(fs.readFileSync(inputFile(file, 'the genesis file'), 'utf8')), chainId)
  const committed = commitmentOf(parsed, genesis)
  if (count === 0) return committed
  const balance = BigInt(weiOf(settings['dev.balance']))
  return withFunds(
    committed,
    devAccounts(settings['dev.mnemonic'], count).map(({ address }) => ({ address, balance })),
  )
}

/** Unbonding time of a new network, 21 days, and of one for tests on this machine; in seconds. */
export const [UNBONDING_SECONDS, TESTNET_UNBONDING_SECONDS] = [1_814_400, 60]

/**
 * The genesis with the staking contract and its first validators. Their operators are the addresses
 * of their consensus keys, for which no account key exists, unless `operator` names one.
 */
export const stakedGenesis = (
  genesis: EthGenesis,
  validators: readonly GenesisValidator[],
  unbondingSeconds: number,
  operator?: string,
): EthGenesis =>
  withStaking(genesis, () =>
    stakingAccount({
      validators: validators.map(({ name, key }) => ({
        operator: operator ?? `0x${validatorAddress(key).toLowerCase()}`,
        key: `0x${key.publicKey.toString('hex')}`,
        power: POWER,
        moniker: name,
      })),
      unbondingSeconds,
      time: factsOf(genesis).time,
    }),
  )
