// genesis.json of CometBFT (its types/genesis.go). Its app_state is the genesis of the Ethereum
// chain, so that one file defines a network.
import { ConsensusError } from './error.ts'
import { type EthGenesis, factsOf, parseGenesis, writeJson } from './eth-genesis.ts'
import { type KeyPair, publicKeyJson, validatorAddress } from './keys.ts'

/** Votes of each validator of a new network. */
export const POWER = 10

/** Largest block, in bytes of its protobuf form. */
const BLOCK_BYTES_MAX = 4 * 1024 * 1024

/** Most gas of a block that CometBFT can name: its parameter is a signed number of 64 bits. */
const GAS_MAX = 2n ** 63n - 1n

/** For how long evidence of a double vote counts: two days. */
const EVIDENCE_SECONDS = 172_800

const NS_PER_SECOND = 1_000_000_000n

/** A validator of a new network. */
export interface GenesisValidator {
  readonly name: string
  readonly key: KeyPair
}

/** The chain id of CometBFT for a chain id of Ethereum. */
export const networkName = (chainId: number): string => `hearth-${chainId}`

/** Where a chain is that becomes a network. */
export interface ChainHead {
  readonly height: number
  readonly gasLimit: bigint
  /** Seconds since 1970. */
  readonly time: number
}

/** The text of genesis.json for a new network, which continues after `head` where the chain has
 * blocks already. `now` is in milliseconds since 1970. Stake stays bonded for at least
 * `evidenceSeconds` after an undelegation, so that evidence finds it. */
export function genesisFile(
  appState: EthGenesis,
  validators: readonly GenesisValidator[],
  now: number,
  head?: ChainHead,
  evidenceSeconds = EVIDENCE_SECONDS,
): string {
  const { chainId, ...first } = factsOf(appState)
  const { gasLimit, time, height } = head ?? { ...first, height: 0 }
  if (gasLimit > GAS_MAX) throw new ConsensusError(`the gas limit of the genesis is over ${GAS_MAX}: CometBFT has no number for it`)
  return writeJson({
    // The first block has this time, which must not be before that of the block before.
    genesis_time: new Date(Math.max(now, time * 1000)).toISOString(),
    chain_id: networkName(chainId),
    initial_height: String(height + 1),
    consensus_params: {
      block: { max_bytes: String(BLOCK_BYTES_MAX), max_gas: String(gasLimit) },
      evidence: { max_age_num_blocks: '100000', max_age_duration: String(BigInt(evidenceSeconds) * NS_PER_SECOND), max_bytes: '1048576' },
      validator: { pub_key_types: ['ed25519'] },
      version: { app: '1' },
      abci: { vote_extensions_enable_height: '0' },
    },
    validators: validators.map(({ name, key }) => ({
      address: validatorAddress(key),
      pub_key: publicKeyJson(key),
      power: String(POWER),
      name,
    })),
    app_hash: '',
    app_state: appState,
  })
}

/**
 * The genesis of the Ethereum chain in a genesis.json; throws `ConsensusError` if there is none.
 */
export function appStateOf(text: string): EthGenesis {
  const { chain_id: name, app_state: state } = parseGenesis(text)
  const genesis = state as EthGenesis | null | undefined
  if (genesis === null || typeof genesis !== 'object' || typeof genesis.config !== 'object')
    throw new ConsensusError('the genesis of that network holds no genesis of an Ethereum chain (app_state): it is no network of Hearth')
  const wanted = networkName(factsOf(genesis).chainId)
  if (name !== wanted) throw new ConsensusError(`the genesis of that network has the chain id ${String(name)}, not ${wanted}`)
  return genesis
}
