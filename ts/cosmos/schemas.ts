// Messages of cosmos.base.tendermint.v1beta1, cosmos.tx.v1beta1 and what stands in them, as their
// .proto files number the fields.
import type { Field, Kind, Registry, Schema } from './wire.ts'

const one = (n: number, kind: Kind, from?: string): Field => (from === undefined ? { n, kind } : { n, kind, from })
const many = (n: number, kind: Kind): Field => ({ n, kind, repeated: true })

const PART_SET_HEADER: Schema = { total: one(1, 'uint32'), hash: one(2, 'hex') }
const BLOCK_ID: Schema = { hash: one(1, 'hex'), part_set_header: one(2, { of: PART_SET_HEADER }, 'parts') }
const VERSION: Schema = { block: one(1, 'uint64'), app: one(2, 'uint64') }

const header = (proposer: Kind): Schema => ({
  version: one(1, { of: VERSION }),
  chain_id: one(2, 'string'),
  height: one(3, 'int64'),
  time: one(4, 'time'),
  last_block_id: one(5, { of: BLOCK_ID }),
  last_commit_hash: one(6, 'hex'),
  data_hash: one(7, 'hex'),
  validators_hash: one(8, 'hex'),
  next_validators_hash: one(9, 'hex'),
  consensus_hash: one(10, 'hex'),
  app_hash: one(11, 'hex'),
  last_results_hash: one(12, 'hex'),
  evidence_hash: one(13, 'hex'),
  proposer_address: one(14, proposer),
})

const FLAGS = { names: ['BLOCK_ID_FLAG_UNKNOWN', 'BLOCK_ID_FLAG_ABSENT', 'BLOCK_ID_FLAG_COMMIT', 'BLOCK_ID_FLAG_NIL'] }
const COMMIT_SIG: Schema = {
  block_id_flag: one(1, FLAGS),
  validator_address: one(2, 'hex'),
  timestamp: one(3, 'time'),
  signature: one(4, 'base64'),
}
const COMMIT: Schema = {
  height: one(1, 'int64'),
  round: one(2, 'int32'),
  block_id: one(3, { of: BLOCK_ID }),
  signatures: many(4, { of: COMMIT_SIG }),
}
const DATA: Schema = { txs: many(1, 'base64') }
/** Blocks with evidence are refused before they come here. */
const EVIDENCE: Schema = { evidence: many(1, { of: {} }) }

const block = (proposer: Kind): Schema => ({
  header: one(1, { of: header(proposer) }),
  data: one(2, { of: DATA }),
  evidence: one(3, { of: EVIDENCE }),
  last_commit: one(4, { of: COMMIT }),
})

/** GetLatestBlockResponse and GetBlockByHeightResponse. */
export const BLOCK_RESPONSE: Schema = {
  block_id: one(1, { of: BLOCK_ID }),
  block: one(2, { of: block('hex') }),
  sdk_block: one(3, { of: block('string') }),
}

const NODE_INFO: Schema = {
  protocol_version: one(1, { of: { p2p: one(1, 'uint64'), block: one(2, 'uint64'), app: one(3, 'uint64') } }),
  default_node_id: one(2, 'string', 'id'),
  listen_addr: one(3, 'string'),
  network: one(4, 'string'),
  version: one(5, 'string'),
  channels: one(6, 'hex'),
  moniker: one(7, 'string'),
  other: one(8, { of: { tx_index: one(1, 'string'), rpc_address: one(2, 'string') } }),
}
const MODULE: Schema = { path: one(1, 'string'), version: one(2, 'string'), sum: one(3, 'string') }
const VERSION_INFO: Schema = {
  name: one(1, 'string'),
  app_name: one(2, 'string'),
  version: one(3, 'string'),
  git_commit: one(4, 'string'),
  build_tags: one(5, 'string'),
  go_version: one(6, 'string'),
  build_deps: many(7, { of: MODULE }),
  cosmos_sdk_version: one(8, 'string'),
}

/** GetNodeInfoResponse. */
export const NODE_INFO_RESPONSE: Schema = {
  default_node_info: one(1, { of: NODE_INFO }),
  application_version: one(2, { of: VERSION_INFO }),
}

/** GetSyncingResponse. */
export const SYNCING_RESPONSE: Schema = { syncing: one(1, 'bool') }

const PAGE_RESPONSE: Schema = { next_key: one(1, 'base64'), total: one(2, 'uint64') }
const VALIDATOR: Schema = {
  address: one(1, 'string'),
  pub_key: one(2, 'any'),
  voting_power: one(3, 'int64'),
  proposer_priority: one(4, 'int64'),
}

/** GetLatestValidatorSetResponse and GetValidatorSetByHeightResponse. */
export const VALIDATOR_SET_RESPONSE: Schema = {
  block_height: one(1, 'int64'),
  validators: many(2, { of: VALIDATOR }),
  pagination: one(3, { of: PAGE_RESPONSE }),
}

/** PageRequest. */
export const PAGE_REQUEST: Schema = {
  key: one(1, 'base64'),
  offset: one(2, 'uint64'),
  limit: one(3, 'uint64'),
  count_total: one(4, 'bool'),
  reverse: one(5, 'bool'),
}

/** The key of ed25519 as a message. */
export const ED25519 = '/cosmos.crypto.ed25519.PubKey'
const KEY: Schema = { key: one(1, 'base64') }

const COIN: Schema = { denom: one(1, 'string'), amount: one(2, 'string') }
const DESCRIPTION: Schema = {
  moniker: one(1, 'string'),
  identity: one(2, 'string'),
  website: one(3, 'string'),
  security_contact: one(4, 'string'),
  details: one(5, 'string'),
}
const RATES: Schema = { rate: one(1, 'dec'), max_rate: one(2, 'dec'), max_change_rate: one(3, 'dec') }
const DELEGATION: Schema = { delegator_address: one(1, 'string'), validator_address: one(2, 'string'), amount: one(3, { of: COIN }) }

/** The messages and keys that transactions of this chain hold. */
export const REGISTRY: Registry = new Map<string, Schema>([
  [ED25519, KEY],
  ['/cosmos.crypto.secp256k1.PubKey', KEY],
  ['/cosmos.evm.crypto.v1.ethsecp256k1.PubKey', KEY],
  ['/ethermint.crypto.v1.ethsecp256k1.PubKey', KEY],
  ['/cosmos.bank.v1beta1.MsgSend', { from_address: one(1, 'string'), to_address: one(2, 'string'), amount: many(3, { of: COIN }) }],
  ['/cosmos.staking.v1beta1.MsgDelegate', DELEGATION],
  ['/cosmos.staking.v1beta1.MsgUndelegate', DELEGATION],
  ['/cosmos.staking.v1beta1.MsgCancelUnbondingDelegation', { ...DELEGATION, creation_height: one(4, 'int64') }],
  [
    '/cosmos.staking.v1beta1.MsgCreateValidator',
    {
      description: one(1, { of: DESCRIPTION }),
      commission: one(2, { of: RATES }),
      min_self_delegation: one(3, 'string'),
      delegator_address: one(4, 'string'),
      validator_address: one(5, 'string'),
      pubkey: one(6, 'any'),
      value: one(7, { of: COIN }),
    },
  ],
  [
    '/cosmos.staking.v1beta1.MsgEditValidator',
    {
      description: one(1, { of: DESCRIPTION }),
      validator_address: one(2, 'string'),
      commission_rate: one(3, 'dec'),
      min_self_delegation: one(4, 'string'),
    },
  ],
  ['/cosmos.slashing.v1beta1.MsgUnjail', { validator_addr: one(1, 'string') }],
])

const SIGN_MODES = { names: ['SIGN_MODE_UNSPECIFIED', 'SIGN_MODE_DIRECT'] }
const BODY: Schema = {
  messages: many(1, 'any'),
  memo: one(2, 'string'),
  timeout_height: one(3, 'uint64'),
  extension_options: many(1023, 'any'),
  non_critical_extension_options: many(2047, 'any'),
}
const SIGNER: Schema = {
  public_key: one(1, 'any'),
  mode_info: one(2, { of: { single: one(1, { of: { mode: one(1, SIGN_MODES) } }) } }),
  sequence: one(3, 'uint64'),
}
const FEE: Schema = { amount: many(1, { of: COIN }), gas_limit: one(2, 'uint64'), payer: one(3, 'string'), granter: one(4, 'string') }

/** Tx, and TxRaw: the bytes of both are the same. */
export const TX: Schema = {
  body: one(1, { of: BODY }),
  auth_info: one(2, { of: { signer_infos: many(1, { of: SIGNER }), fee: one(2, { of: FEE }) } }),
  signatures: many(3, 'base64'),
}
/** The name of Tx in a field of kind `any`. */
export const TX_TYPE = '/cosmos.tx.v1beta1.Tx'

const EVENT: Schema = {
  type: one(1, 'string'),
  attributes: many(2, { of: { key: one(1, 'string'), value: one(2, 'string'), index: one(3, 'bool') } }),
}

/** TxResponse. */
const TX_RESULT: Schema = {
  height: one(1, 'int64'),
  txhash: one(2, 'string'),
  codespace: one(3, 'string'),
  code: one(4, 'uint32'),
  data: one(5, 'string'),
  raw_log: one(6, 'string'),
  logs: many(7, { of: {} }),
  info: one(8, 'string'),
  gas_wanted: one(9, 'int64'),
  gas_used: one(10, 'int64'),
  tx: one(11, 'any'),
  timestamp: one(12, 'string'),
  events: many(13, { of: EVENT }),
}

const MODES = { names: ['BROADCAST_MODE_UNSPECIFIED', 'BROADCAST_MODE_BLOCK', 'BROADCAST_MODE_SYNC', 'BROADCAST_MODE_ASYNC'] }

/** BroadcastTxRequest. */
export const BROADCAST_REQUEST: Schema = { tx_bytes: one(1, 'base64'), mode: one(2, MODES) }
/** The names of its modes, by number. */
export const BROADCAST_MODES = MODES.names
/** BroadcastTxResponse. */
export const BROADCAST_RESPONSE: Schema = { tx_response: one(1, { of: TX_RESULT }) }

/** GetTxRequest. */
export const GET_TX_REQUEST: Schema = { hash: one(1, 'string') }
/** GetTxResponse. */
export const GET_TX_RESPONSE: Schema = { tx: one(1, { of: TX }), tx_response: one(2, { of: TX_RESULT }) }

const ORDERS = { names: ['ORDER_BY_UNSPECIFIED', 'ORDER_BY_ASC', 'ORDER_BY_DESC'] }
/** The names of the orders of a search, by number. */
export const ORDER_NAMES = ORDERS.names
/** GetTxsEventRequest. */
export const SEARCH_REQUEST: Schema = {
  events: many(1, 'string'),
  pagination: one(2, { of: PAGE_REQUEST }),
  order_by: one(3, ORDERS),
  page: one(4, 'uint64'),
  limit: one(5, 'uint64'),
  query: one(6, 'string'),
}
/** GetTxsEventResponse. */
export const SEARCH_RESPONSE: Schema = {
  txs: many(1, { of: TX }),
  tx_responses: many(2, { of: TX_RESULT }),
  pagination: one(3, { of: PAGE_RESPONSE }),
  total: one(4, 'uint64'),
}

/** GetBlockByHeightRequest; GetValidatorSetByHeightRequest has a page beside. */
export const HEIGHT_REQUEST: Schema = { height: one(1, 'int64'), pagination: one(2, { of: PAGE_REQUEST }) }
/** GetLatestValidatorSetRequest. */
export const PAGED_REQUEST: Schema = { pagination: one(1, { of: PAGE_REQUEST }) }
/** A request without fields. */
export const EMPTY: Schema = {}
