// Every query of both listeners, once: its name in gRPC, its paths in REST, and who answers it.
import type { RequestMeter } from '../rpc/meter.ts'

/** Who answers: the core, from the chain's state; or CometBFT. */
export type Source = 'core' | 'engine'

/** A query. */
export interface Query {
  /** Service and method, as gRPC names them. */
  readonly name: string
  readonly source: Source
  /** Paths of REST, with `{parameter}` for a part; the method is GET. */
  readonly get?: readonly string[]
  /** Path of REST that takes a body of JSON. */
  readonly post?: string
}

const STAKING = '/cosmos/staking/v1beta1'
const BANK = '/cosmos/bank/v1beta1'
const AUTH = '/cosmos/auth/v1beta1'
const TENDERMINT = '/cosmos/base/tendermint/v1beta1'

const staking = (method: string, path: string): Query => ({
  name: `cosmos.staking.v1beta1.Query/${method}`,
  source: 'core',
  get: [`${STAKING}/${path}`],
})
const bank = (method: string, ...paths: readonly string[]): Query => ({
  name: `cosmos.bank.v1beta1.Query/${method}`,
  source: 'core',
  get: paths.map((path) => `${BANK}/${path}`),
})
const auth = (method: string, path: string): Query => ({
  name: `cosmos.auth.v1beta1.Query/${method}`,
  source: 'core',
  get: [`${AUTH}/${path}`],
})
const tendermint = (method: string, path: string): Query => ({
  name: `cosmos.base.tendermint.v1beta1.Service/${method}`,
  source: 'engine',
  get: [`${TENDERMINT}/${path}`],
})
const tx = (method: string, source: Source, paths: Pick<Query, 'get' | 'post'>): Query => ({
  name: `cosmos.tx.v1beta1.Service/${method}`,
  source,
  ...paths,
})

/** The table; of two paths that fit, the first one counts. */
export const QUERIES: readonly Query[] = [
  staking('Validators', 'validators'),
  staking('Validator', 'validators/{validator_addr}'),
  staking('ValidatorDelegations', 'validators/{validator_addr}/delegations'),
  staking('ValidatorUnbondingDelegations', 'validators/{validator_addr}/unbonding_delegations'),
  staking('Delegation', 'validators/{validator_addr}/delegations/{delegator_addr}'),
  staking('UnbondingDelegation', 'validators/{validator_addr}/delegations/{delegator_addr}/unbonding_delegation'),
  staking('DelegatorDelegations', 'delegations/{delegator_addr}'),
  staking('DelegatorUnbondingDelegations', 'delegators/{delegator_addr}/unbonding_delegations'),
  staking('DelegatorValidators', 'delegators/{delegator_addr}/validators'),
  staking('DelegatorValidator', 'delegators/{delegator_addr}/validators/{validator_addr}'),
  staking('Pool', 'pool'),
  staking('Params', 'params'),
  bank('Balance', 'balances/{address}/by_denom'),
  bank('AllBalances', 'balances/{address}'),
  bank('SpendableBalances', 'spendable_balances/{address}'),
  bank('DenomsMetadata', 'denoms_metadata'),
  bank('DenomMetadata', 'denoms_metadata/{denom}'),
  bank('Params', 'params'),
  auth('Account', 'accounts/{address}'),
  auth('AccountInfo', 'account_info/{address}'),
  auth('Params', 'params'),
  auth('Bech32Prefix', 'bech32'),
  tendermint('GetNodeInfo', 'node_info'),
  tendermint('GetSyncing', 'syncing'),
  tendermint('GetLatestBlock', 'blocks/latest'),
  tendermint('GetBlockByHeight', 'blocks/{height}'),
  tendermint('GetLatestValidatorSet', 'validatorsets/latest'),
  tendermint('GetValidatorSetByHeight', 'validatorsets/{height}'),
  { name: 'cosmos.base.node.v1beta1.Service/Config', source: 'core', get: ['/cosmos/base/node/v1beta1/config'] },
  { name: 'cosmos.base.node.v1beta1.Service/Status', source: 'core', get: ['/cosmos/base/node/v1beta1/status'] },
  tx('Simulate', 'core', { post: '/cosmos/tx/v1beta1/simulate' }),
  tx('BroadcastTx', 'engine', { post: '/cosmos/tx/v1beta1/txs' }),
  tx('GetTx', 'engine', { get: ['/cosmos/tx/v1beta1/txs/{hash}'] }),
  tx('GetTxsEvent', 'engine', { get: ['/cosmos/tx/v1beta1/txs'] }),
]

/** The name of what is no query, in metrics. */
export const UNKNOWN_QUERY = 'unknown'

/** The names of the listeners. */
export type CosmosListener = 'rest' | 'grpc'

/** Counts queries. */
export type CosmosMeter = Pick<RequestMeter, 'count'>

/**
 * Counts a query that ended with a code of gRPC; `query` is a name of the table, or
 * `UNKNOWN_QUERY`.
 */
export const countQuery = (meter: CosmosMeter, listener: CosmosListener, query: string, code: number): void =>
  meter.count('cosmosQueries', listener, query, String(code))
