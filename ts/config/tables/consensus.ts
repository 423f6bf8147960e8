// [consensus]: a chain whose blocks a network of validators decides on, with CometBFT as the engine
// and this node as its application.
import { boolean, integer, offAt, oneWord, or, text } from '../parsers.ts'
import { duration } from '../units.ts'
import { HOUR, host, MINUTE, port, SECOND, setting, validatorUrls } from './shared.ts'

/** Most blocks that a distance in blocks may span. */
const BLOCKS_MAX = 1_000_000_000

/** Settings of a node under CometBFT. */
export const CONSENSUS = {
  'consensus.enabled': setting({
    kind: boolean,
    default: false,
    doc: 'Whether hearth start runs the chain under CometBFT: validators agree on its blocks, and this node executes them. hearth init --cometbft and hearth testnet set it.',
  }),
  'consensus.supervise': setting({
    kind: boolean,
    default: true,
    doc: 'Whether Hearth starts CometBFT, monitors it and restarts it. If false, a CometBFT that the operator runs connects to consensus.abci_address.',
  }),
  'consensus.cometbft_bin': setting({
    kind: or('auto', text('the path of a program', /^\S.*$/)),
    default: 'auto' as string,
    doc: 'The program of CometBFT, version 0.38 or newer. auto looks for cometbft on the PATH, then in go/bin of the home directory of the user.',
  }),
  'consensus.abci_address': setting({
    kind: or('auto', text('unix:///PATH or tcp://HOST:PORT', /^(unix:\/\/\/\S+|tcp:\/\/(127\.\d+\.\d+\.\d+|localhost|\[::1\]):\d{1,5})$/)),
    default: 'auto' as string,
    doc: 'Address of the ABCI server to which CometBFT connects: a Unix socket by its absolute path (at most 107 bytes), or a loopback port. auto is data/abci.sock in the data directory, and a socket in a temporary folder where that path is too long.',
  }),
  'consensus.rpc_host': setting({ kind: host, default: '127.0.0.1', doc: 'Address that the RPC of CometBFT binds.' }),
  'consensus.rpc_port': setting({
    kind: port,
    default: 26_657,
    doc: 'Port of the RPC of CometBFT (status, commit, broadcast_tx_sync, …). 0 takes a free port.',
  }),
  'consensus.p2p_host': setting({ kind: host, default: '0.0.0.0', doc: 'Address on which CometBFT accepts connections from other nodes.' }),
  'consensus.p2p_port': setting({
    kind: port,
    default: 26_656,
    doc: 'Port on which CometBFT accepts connections from other nodes. 0 takes a free port.',
  }),
  'consensus.timeout_commit': setting({
    kind: duration(0, HOUR),
    default: SECOND,
    unit: 'ms',
    doc: 'Time that CometBFT waits after a block before it starts the next height: about the time between two blocks. No effect on a CometBFT that Hearth does not start.',
  }),
  'consensus.tx_index': setting({
    kind: oneWord('kv', 'null'),
    default: 'kv' as 'kv' | 'null',
    doc: 'Transaction index of CometBFT, for its methods tx and tx_search: kv keeps an index, null keeps none and saves disk space.',
  }),
  'consensus.proposal_budget': setting({
    kind: duration(1, MINUTE),
    default: 500,
    unit: 'ms',
    doc: 'Maximum time that this node spends on executing transactions for a block that it proposes.',
  }),
  'consensus.retain_blocks': setting({
    kind: integer(0, BLOCKS_MAX),
    default: 0,
    unit: 'blocks',
    doc: 'Number of newest blocks that CometBFT keeps in its own store for other nodes; 0 keeps all. The blocks in the ledger of the node are not affected.',
  }),
  'consensus.snapshot_interval_blocks': setting({
    kind: offAt(0, integer(0, BLOCKS_MAX)),
    default: 0,
    unit: 'blocks',
    doc: 'A snapshot from which other nodes can begin (state sync) is taken at heights that are divisible by this.',
  }),
  'consensus.redirect': setting({
    kind: oneWord('off', 'sender'),
    default: 'off' as 'off' | 'sender',
    doc: 'Which requests are sent to another node of the network. off: none. sender: eth_sendRawTransaction, and eth_getTransactionCount at pending, are sent to the validator that serves this sender, so that one pool sees all nonces of a sender; other nodes receive the transaction from that validator.',
  }),
  'consensus.validator_rpc': setting({
    kind: validatorUrls,
    default: [] as readonly string[],
    doc: 'Addresses of the validators for consensus.redirect: ADDRESS=URL for each, with the 40 hex digits of its consensus address. Where several validators of the current set have an entry, the sender determines to which of them a request is sent; where one has, all requests are sent to it. A URL alone is used while none has. hearth testnet sets it.',
  }),
  'consensus.redirect_timeout': setting({
    kind: duration(1, HOUR),
    default: 5 * SECOND,
    unit: 'ms',
    doc: 'Maximum time to wait for the response to a request that consensus.redirect sent to a validator.',
  }),
  'consensus.redirect_token_file': setting({
    kind: or('none', text('the path of a file', /^\S.*$/)),
    default: 'none' as string,
    doc: 'File with the bearer token for requests to validators (evm.auth_token_file there), one line. It is read at the start.',
  }),
  'consensus.ready_max_block_age': setting({
    kind: offAt(0, duration(0, HOUR)),
    default: 10 * SECOND,
    unit: 'ms',
    doc: '/ready returns 503 while the last committed block is older than this; off disables the check.',
  }),
  'consensus.ready_lag_blocks': setting({
    kind: integer(0, BLOCKS_MAX),
    default: 20,
    unit: 'blocks',
    doc: '/ready returns 503 while this node is more than this number of blocks behind the highest of its peers.',
  }),
} as const
