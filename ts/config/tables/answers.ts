// [evm], second part: bounds of what the methods do.
import { boolean, integer, offAt, or, text } from '../parsers.ts'
import { bytes, duration } from '../units.ts'
import { DAY, GIB, HOUR, KIB, MIB, MINUTE, nodeUrl, SECOND, setting } from './shared.ts'

/** Settings of calls, logs, filters and transactions. */
export const ANSWERS = {
  'evm.client_version': setting({
    kind: or('auto', text('a name and version', /^[\x21-\x7e]{1,200}$/)),
    default: 'auto',
    doc: 'The result of web3_clientVersion. auto is the name and version of this program; under hearth dev it starts with anvil/, because tools for development chains check for that.',
  }),
  'evm.simulation_gas_limit': setting({
    core: 'rpc.gasCap',
    kind: integer(21_000, Number.MAX_SAFE_INTEGER),
    default: 50_000_000,
    unit: 'gas',
    doc: 'Gas limit of eth_call, eth_estimateGas and debug_traceCall, and of all calls of one eth_simulateV1 or debug_traceCallMany together. A higher limit in a request is lowered to it.',
  }),
  'evm.simulation_evm_timeout': setting({
    core: 'rpc.callTimeoutMs',
    kind: duration(1, HOUR),
    default: 5 * SECOND,
    unit: 'ms',
    doc: 'Maximum duration of one eth_call, eth_estimateGas or eth_simulateV1, not counting waits for the remote node of a fork (dev.fork_timeout).',
  }),
  'evm.max_state_override_accounts': setting({
    kind: offAt(0, integer(0, 100_000)),
    default: 100,
    unit: 'accounts',
    doc: 'Maximum number of accounts in the state overrides of one request; 0 is no limit.',
  }),
  'evm.max_state_override_slots': setting({
    kind: offAt(0, integer(0, 1_000_000)),
    default: 1000,
    unit: 'slots',
    doc: 'Maximum number of storage slots in the state overrides of one request, all accounts together; 0 is no limit.',
  }),
  'evm.max_estimate_gas_calls': setting({
    kind: offAt(0, integer(0, 100_000)),
    default: 100,
    unit: 'calls',
    inert: true,
    doc: 'Maximum number of calls in one request that estimates gas after other calls; 0 is no limit.',
  }),
  'evm.max_concurrent_simulation_calls': setting({
    core: 'workers.simulations',
    kind: or('auto', integer(1, 100_000)),
    default: 'auto' as number | 'auto',
    doc: 'Number of calls and estimates that run at the same time; further ones wait, clients take turns. auto is the number of processors minus one, at least one.',
  }),
  'evm.max_log_no_block': setting({
    core: 'rpc.logsMaxResults',
    kind: integer(1, 10_000_000),
    default: 10_000,
    unit: 'logs',
    doc: 'Maximum number of logs in one response of eth_getLogs. More is an error that names the range that would fit.',
  }),
  'evm.max_log_bytes': setting({
    core: 'rpc.logsMaxBytes',
    kind: bytes(KIB, 16 * GIB),
    default: 64 * MIB,
    unit: 'bytes',
    doc: 'Maximum size of one response of eth_getLogs. More is an error that names the range that would fit.',
  }),
  'evm.max_blocks_for_log': setting({
    core: 'rpc.logsMaxBlockRange',
    kind: offAt(0, integer(0, Number.MAX_SAFE_INTEGER)),
    default: 0,
    unit: 'blocks',
    doc: 'Maximum number of blocks in the range of one eth_getLogs; 0 is no limit.',
  }),
  'evm.filter_timeout': setting({
    kind: duration(SECOND, DAY),
    default: 2 * MINUTE,
    unit: 'ms',
    doc: 'Time after which a filter without a request for its changes is removed.',
  }),
  'evm.max_subscriptions_new_head': setting({
    kind: integer(0, 10_000_000),
    default: 10_000,
    doc: 'Maximum number of subscriptions to new heads; 0 allows none.',
  }),
  'evm.max_subscriptions_logs': setting({
    kind: integer(0, 10_000_000),
    default: 1000,
    doc: 'Maximum number of subscriptions to logs; 0 allows none.',
  }),
  'evm.max_tx_pool_txs': setting({
    core: 'rpc.poolContentMax',
    kind: integer(1, 10_000_000),
    default: 1000,
    unit: 'transactions',
    doc: 'Maximum number of transactions in one response of txpool_content, txpool_contentFrom and txpool_inspect, executable ones first; the rest is left out.',
  }),
  'evm.fee_history_max_blocks': setting({
    core: 'rpc.feeHistoryMaxBlocks',
    kind: integer(1, 1_000_000),
    default: 1024,
    unit: 'blocks',
    doc: 'Maximum number of blocks in one eth_feeHistory; a longer request is shortened.',
  }),
  'evm.tx_fee_cap_gwei': setting({
    core: 'rpc.txFeeCapWei',
    kind: or('none', integer(1, 100_000_000_000)),
    default: 1_000_000_000 as number | 'none',
    unit: 'gwei',
    doc: 'Maximum fee (gas limit times price) of a transaction that eth_sendRawTransaction accepts; none is no cap. The default is one ether.',
  }),
  'evm.forward_url': setting({
    kind: nodeUrl,
    default: 'none',
    doc: 'Node to which hearth start forwards transactions, in place of its own pool. The methods are eth_sendRawTransaction, eth_sendRawTransactionSync, and eth_getTransactionCount at pending. User and password in the URL are sent as HTTP Basic authentication. none: transactions go to the pool of a node that builds blocks (engine.enabled, or the namespace testing); any other node refuses them. No effect under CometBFT, in hearth dev and in hearth follow.',
  }),
  'evm.forward_timeout': setting({
    kind: duration(1, HOUR),
    default: 10 * SECOND,
    unit: 'ms',
    doc: 'Timeout of a forwarded request; eth_sendRawTransactionSync adds the time that it may wait for the receipt.',
  }),
  'evm.forward_max_in_flight': setting({
    kind: integer(1, 100_000),
    default: 64,
    unit: 'requests',
    doc: 'Maximum number of forwarded requests in flight; a further one is refused with -32005.',
  }),
  'evm.allow_unprotected_txs': setting({
    core: 'rpc.allowUnprotectedTxs',
    kind: boolean,
    default: false,
    doc: 'Whether eth_sendRawTransaction accepts legacy transactions without a chain id (EIP-155).',
  }),
} as const
