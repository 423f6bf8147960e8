// The values that each parameter of each method takes and refuses, for tests of the whole table.
import {
  address,
  anything,
  blockInterval,
  blockNumber,
  blockOverrides,
  blockRef,
  boolean,
  bundles,
  callConfig,
  callContext,
  clientMethods,
  data,
  engineAttributes,
  executionPayload,
  executionRequests,
  filter,
  forkchoiceState,
  hash,
  hashes,
  heightOrHash,
  heightOrTag,
  heightOrZero,
  hexOrDecimal,
  indexOptions,
  mineOptions,
  number64,
  number256,
  object,
  pageNumber,
  pageSize,
  payloadAttributes,
  payloadId,
  profileOptions,
  rangeOptions,
  rawTransactions,
  reorgPairs,
  resetOptions,
  searchOptions,
  simulation,
  stateOverrides,
  stepsOf,
  stepsOrBlock,
  storageKey,
  traceAddress,
  traceConfig,
  traceFilter,
  traceTypes,
  transaction,
  typedCalls,
  uint64,
  uint256,
  url,
  witnessMode,
  word,
  word256,
} from '../../ts/rpc/codec/index.ts'
import type { Param } from '../../ts/rpc/method.ts'

/** A value that a parameter takes, and values that it must refuse. */
export interface Kind {
  readonly good: unknown
  readonly bad: readonly unknown[]
}

const ADDRESS = `0x${'11'.repeat(20)}`
const HASH = `0x${'22'.repeat(32)}`
const DEEP = JSON.parse(`${'['.repeat(60)}${']'.repeat(60)}`) as unknown

const NO_STRING = [true, 0, -1, 1.5, 1e300, [], {}, DEEP]
const NO_HEX = ['0', 'zz', '0xzz', '0x 1', '0x١', '-0x1', '0x-1', ' 0x1', '\u0000']
const NO_BYTES = [...NO_STRING, ...NO_HEX, '0x1', '0x123', '0x+1']
const NO_WIDTH = [...NO_BYTES, '', '0x', '0x11', `0x${'11'.repeat(33)}`, `0x${'11'.repeat(1000)}`]
const NO_QUANTITY = [...NO_STRING, ...NO_HEX, '0x', '0x00', '0x01', '0x+1', '1', `0x1${'0'.repeat(64)}`]
/** Neither hex nor decimal, in a string or as a whole number. */
const NO_NUMBER = [true, -1, 1.5, 1e300, '', 'x', '-1', '0x', '0xzz', '1.5', ' 1', [], {}, DEEP]
const isPlainObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value)
const NO_OBJECT = [true, 0, -1, '', '0x', 'latest', [], DEEP]
const NO_ARRAY = [true, 0, -1, '', '0x', {}]

/** An object with one field, for each value of that field. */
const withField = (name: string, values: readonly unknown[], rest: object = {}): object[] =>
  values.map((value) => ({ ...rest, [name]: value }))

/** null in a field is absence. */
const BAD_CALLS = [
  ...NO_OBJECT,
  ...withField('from', NO_WIDTH),
  ...withField('to', NO_WIDTH),
  ...withField('gas', [...NO_QUANTITY, `0x1${'0'.repeat(16)}`]),
  ...withField('gasPrice', NO_QUANTITY),
  ...withField('maxFeePerGas', NO_QUANTITY),
  ...withField('value', NO_QUANTITY),
  ...withField('nonce', [...NO_QUANTITY, `0x1${'0'.repeat(16)}`]),
  ...withField('data', NO_BYTES),
  ...withField('input', NO_BYTES),
  ...withField('chainId', NO_QUANTITY),
  ...withField('accessList', [...NO_ARRAY, [0], [{ address: 1 }], [{ storageKeys: ['0x1'] }]]),
  ...withField('blobVersionedHashes', [...NO_ARRAY, ['0x1'], [1]]),
  ...withField('authorizationList', [...NO_ARRAY, [1], [{ nonce: -1 }]]),
]

const million = <T>(value: T): T[] => Array.from({ length: 1_000_000 }, () => value)
const many = <T>(value: T): T[] => Array.from({ length: 10_000 }, () => value)

const BAD_FILTERS = [
  ...NO_OBJECT,
  ...withField('fromBlock', [...NO_QUANTITY, 'latestt', 'LATEST']),
  ...withField('toBlock', NO_QUANTITY),
  ...withField('blockHash', NO_WIDTH),
  ...withField('address', [true, 0, {}, '0x', [1], ['0x11'], [[ADDRESS]]]),
  ...withField('topics', [true, 0, {}, '0x', [1], ['0x11'], [[[HASH]]], [null, null, null, null, null], million(null), [many(HASH)]]),
  { blockHash: HASH, fromBlock: '0x1' },
]

/** Heights of more than 63 bits mean nothing, and neither do more than 64. */
const BAD_HEIGHTS = [...NO_QUANTITY, '', 'latestt', 'LATEST', `0x8${'0'.repeat(15)}`, `0x1${'0'.repeat(16)}`]

const BAD_REFS = [
  ...BAD_HEIGHTS.filter((value) => JSON.stringify(value) !== '{}'),
  ...withField('blockHash', NO_WIDTH),
  ...withField('blockNumber', BAD_HEIGHTS),
  ...withField('requireCanonical', ['true', 1, {}, []], { blockHash: HASH }),
  { blockHash: HASH, blockNumber: '0x1' },
]

const NO_COUNT = [true, -1, 1.5, 1e300, '', 'x', '1', [], {}, DEEP]

/** Neither the hash of a transaction nor a call to step through. */
const BAD_STEPS_OF = [
  true,
  0,
  '0x',
  'latest',
  [],
  {},
  ...withField('transaction', [true, 0, '', [], { gas: 'x' }], { block: 'latest' }),
  ...withField('block', ['latestt', 1, []], { transaction: {} }),
  ...withField('txIndex', NO_QUANTITY, { transaction: {}, block: 'latest' }),
  ...withField('unknown', [1], { transaction: {}, block: 'latest' }),
]

const BAD_STATES = [
  ...NO_OBJECT,
  { '0x11': {} },
  { latest: {} },
  ...withField(ADDRESS, [true, 0, '0x', []]),
  ...withField('balance', NO_QUANTITY).map((account) => ({ [ADDRESS]: account })),
  ...withField('code', NO_BYTES).map((account) => ({ [ADDRESS]: account })),
  ...withField('state', [true, [], '0x', { '0x1': HASH }, { [HASH]: '0x1' }]).map((account) => ({ [ADDRESS]: account })),
]

const BAD_ATTRIBUTES = [
  ...NO_OBJECT,
  {},
  ...withField('timestamp', NO_QUANTITY, { prevRandao: HASH, suggestedFeeRecipient: ADDRESS }),
  ...withField('prevRandao', NO_WIDTH, { timestamp: '0x1', suggestedFeeRecipient: ADDRESS }),
  ...withField('withdrawals', [...NO_ARRAY, [1], [{ index: 1 }]], { timestamp: '0x1', prevRandao: HASH, suggestedFeeRecipient: ADDRESS }),
]

const PAYLOAD = {
  parentHash: HASH,
  feeRecipient: ADDRESS,
  stateRoot: HASH,
  receiptsRoot: HASH,
  logsBloom: `0x${'00'.repeat(256)}`,
  prevRandao: HASH,
  blockNumber: '0x1',
  gasLimit: '0x1',
  gasUsed: '0x0',
  timestamp: '0x1',
  extraData: '0x',
  baseFeePerGas: '0x7',
  blockHash: HASH,
  transactions: [],
}

const BAD_PAYLOADS = [
  ...NO_OBJECT,
  ...Object.keys(PAYLOAD).map((name) => ({ ...PAYLOAD, [name]: undefined })),
  ...withField('parentHash', NO_WIDTH, PAYLOAD),
  ...withField('logsBloom', NO_WIDTH, PAYLOAD),
  ...withField('gasLimit', [...NO_QUANTITY, `0x1${'0'.repeat(16)}`], PAYLOAD),
  ...withField('extraData', NO_BYTES, PAYLOAD),
  ...withField('transactions', [...NO_ARRAY, [1], ['0x1']], PAYLOAD),
  ...withField('withdrawals', [...NO_ARRAY, [1], [{ index: '0x1' }]], PAYLOAD),
  ...withField('blobGasUsed', NO_QUANTITY, PAYLOAD),
]

const STATE = { headBlockHash: HASH, safeBlockHash: HASH, finalizedBlockHash: HASH }

const BAD_STATES_OF_FORKCHOICE = [
  ...NO_OBJECT,
  ...Object.keys(STATE).flatMap((name) => [{ ...STATE, [name]: undefined }, ...withField(name, NO_WIDTH, STATE)]),
]

const CALL = { to: ADDRESS }

/** By codec. */
const KINDS: ReadonlyMap<unknown, Kind> = new Map<unknown, Kind>([
  [address, { good: ADDRESS, bad: NO_WIDTH }],
  [executionPayload, { good: PAYLOAD, bad: BAD_PAYLOADS }],
  [forkchoiceState, { good: STATE, bad: BAD_STATES_OF_FORKCHOICE }],
  [engineAttributes, { good: { timestamp: '0x1', prevRandao: HASH, suggestedFeeRecipient: ADDRESS }, bad: BAD_ATTRIBUTES }],
  [executionRequests, { good: ['0x0011'], bad: [...NO_ARRAY, [1], ['0x1']] }],
  [hashes, { good: [HASH], bad: [...NO_ARRAY, [1], ['0x11']] }],
  [payloadId, { good: '0x0100000000000000', bad: NO_WIDTH }],
  [clientMethods, { good: ['engine_newPayloadV4'], bad: [...NO_ARRAY, [1], ['x'.repeat(200)]] }],
  [object, { good: { code: 'ZZ' }, bad: NO_OBJECT }],
  [heightOrHash, { good: 1, bad: BAD_REFS.filter((value) => value !== 0) }],
  [heightOrTag, { good: 1, bad: [...BAD_HEIGHTS.filter((value) => value !== 0), HASH] }],
  [heightOrZero, { good: 0, bad: [...NO_STRING.filter((value) => value !== 0), ...NO_HEX, '', 'latest', '0x01', `0x1${'0'.repeat(16)}`] }],
  [pageNumber, { good: 0, bad: [...NO_STRING.filter((value) => value !== 0), '0x1', '1'] }],
  [pageSize, { good: 25, bad: [...NO_STRING, '0x1', '1', 1001] }],
  [witnessMode, { good: 'legacy', bad: [...NO_STRING, '', 'Legacy', 'x'.repeat(200)] }],
  [traceTypes, { good: ['trace', 'stateDiff'], bad: [...NO_ARRAY, [1], ['traces'], [['trace']]] }],
  [traceAddress, { good: [0, '0x1'], bad: [...NO_ARRAY, [-1], [1.5], ['1'], [2 ** 32], many(0)] }],
  [
    traceFilter,
    {
      good: { fromBlock: '0x1', toAddress: [ADDRESS], after: 2, count: '0x5' },
      bad: [
        ...NO_OBJECT,
        ...withField('fromBlock', [...NO_QUANTITY, 'latestt']),
        ...withField('toBlock', NO_QUANTITY),
        ...withField('fromAddress', [...NO_ARRAY, ['0x11'], many(ADDRESS)]),
        ...withField('toAddress', [...NO_ARRAY, [1]]),
        ...withField('after', [-1, 1.5, '1', [], {}]),
        ...withField('count', [-1, 1.5, '1', [], {}]),
        ...withField('mode', ['both', 1, []]),
      ],
    },
  ],
  [
    typedCalls,
    {
      good: [[CALL, ['trace']]],
      bad: [...NO_ARRAY, [CALL], [[CALL]], [[CALL, 'trace']], [[{ to: '0x1' }, ['trace']]], million([CALL, []])],
    },
  ],
  [hash, { good: HASH, bad: [...NO_WIDTH, ADDRESS, 'latest'] }],
  [data, { good: '0x1234', bad: NO_BYTES }],
  [uint64, { good: '0x1', bad: [...NO_QUANTITY, `0x1${'0'.repeat(16)}`] }],
  [uint256, { good: '0x1', bad: NO_QUANTITY }],
  [boolean, { good: true, bad: ['true', 1, 0, '', '0x1', [], {}] }],
  [word, { good: '0x1', bad: [true, 1, [], {}, 'x'.repeat(129)] }],
  [blockNumber, { good: 'latest', bad: [...BAD_HEIGHTS, HASH] }],
  [blockRef, { good: 'latest', bad: BAD_REFS }],
  [transaction, { good: CALL, bad: BAD_CALLS }],
  [filter, { good: { fromBlock: '0x1', toBlock: '0x1' }, bad: BAD_FILTERS }],
  [stateOverrides, { good: { [ADDRESS]: { balance: '0x1' } }, bad: BAD_STATES }],
  [
    blockOverrides,
    { good: { number: '0x5' }, bad: [...NO_OBJECT, ...withField('number', NO_QUANTITY), ...withField('time', NO_QUANTITY)] },
  ],
  [storageKey, { good: '0x1', bad: [...NO_STRING, 'zz', `0x${'1'.repeat(65)}`] }],
  [hexOrDecimal, { good: '0x1', bad: [true, -1, 1.5, '', 'x', '-1', '0x', [], {}, `0x1${'0'.repeat(16)}`] }],
  [number64, { good: '0x05', bad: [...NO_NUMBER, `0x1${'0'.repeat(16)}`, '18446744073709551616'] }],
  [number256, { good: 5, bad: [...NO_NUMBER, `0x1${'0'.repeat(64)}`, '9'.repeat(100_000)] }],
  [word256, { good: '0x1', bad: [...NO_STRING.filter((value) => value !== 0), '', '1', 'zz', '0x', `0x${'1'.repeat(65)}`] }],
  [
    mineOptions,
    {
      good: { blocks: 1 },
      bad: [...NO_NUMBER.filter((value) => !isPlainObject(value)), { timestamp: 'x' }, { blocks: -1 }, { blocks: [] }],
    },
  ],
  [blockInterval, { good: 3600, bad: [...NO_NUMBER.filter((value) => !Array.isArray(value)), [], [1], [1, 2, 3], [2, 1], ['x', 1], 1e12] }],
  [
    reorgPairs,
    {
      good: [],
      bad: [...NO_ARRAY, [1], [[]], [[CALL]], [[CALL, -1]], [['0x1', 0]], [[{ to: 1 }, 0]], many([CALL, 0]).concat([[CALL, 0]])],
    },
  ],
  [
    resetOptions,
    {
      good: {},
      bad: [
        true,
        0,
        '',
        [],
        { forking: 1 },
        { forking: { jsonRpcUrl: 1 } },
        { forking: { jsonRpcUrl: 'x' } },
        { forking: { blockNumber: -1 } },
      ],
    },
  ],
  [url, { good: 'http://127.0.0.1:1', bad: [true, 0, [], {}, '', 'x', `http://${'x'.repeat(3000)}`] }],
  [
    simulation,
    {
      good: { blockStateCalls: [{ calls: [CALL] }] },
      bad: [...NO_OBJECT, ...withField('blockStateCalls', [...NO_ARRAY, [1], [{ calls: [1] }]])],
    },
  ],
  [
    traceConfig,
    {
      good: { tracer: 'callTracer' },
      bad: [...NO_OBJECT, ...withField('tracer', [1, true, [], {}])],
    },
  ],
  [
    callConfig,
    {
      good: { tracer: 'callTracer' },
      bad: [...NO_OBJECT, ...withField('tracer', [1, true, [], {}]), ...withField('stateOverrides', BAD_STATES)],
    },
  ],
  [stepsOf, { good: HASH, bad: [...BAD_STEPS_OF, { block: 'latest' }] }],
  [stepsOrBlock, { good: { block: 'latest' }, bad: [...BAD_STEPS_OF, { block: 'latest', txIndex: '0x0' }, { block: 'latestt' }] }],
  [indexOptions, { good: { timeout: '5s' }, bad: [...NO_OBJECT, ...withField('timeout', NO_STRING)] }],
  [
    rangeOptions,
    {
      good: { from: 0, to: 10, frame: 0, own: true, fields: ['stack'], stackTop: 4 },
      bad: [
        ...NO_OBJECT,
        ...withField('from', NO_COUNT),
        ...withField('to', NO_COUNT),
        ...withField('frame', [...NO_COUNT, 2 ** 32]),
        ...withField('own', [1, 'true', []]),
        ...withField('fields', [...NO_ARRAY, ['memory'], [1]]),
        ...withField('stackTop', NO_COUNT),
        ...withField('memory', [1, [], { offset: -1 }, { length: 'x' }]),
      ],
    },
  ],
  [
    searchOptions,
    {
      good: { where: { op: ['SSTORE', 'SLOAD'], slot: '0x0', error: false }, count: 5, backwards: true },
      bad: [
        ...NO_OBJECT,
        ...withField('from', NO_COUNT),
        ...withField('count', NO_COUNT),
        ...withField('backwards', [1, 'true', []]),
        ...withField('where', [
          1,
          'x',
          [],
          { op: 1 },
          { op: [1] },
          { pc: '1' },
          { address: '0x1' },
          { slot: '1' },
          { topic: 1 },
          { error: 1 },
        ]),
      ],
    },
  ],
  [
    profileOptions,
    {
      good: { by: 'pc', marks: [{ hash: HASH, in: [1], out: [2] }] },
      bad: [
        ...NO_OBJECT,
        ...withField('by', ['line', 1, []]),
        ...withField('marks', [...NO_ARRAY, [1], [{ hash: '0x1' }], [{ hash: HASH, in: ['1'] }], [{ hash: HASH, out: [2 ** 32] }]]),
      ],
    },
  ],
  [bundles, { good: [{ transactions: [CALL] }], bad: [...NO_ARRAY, [1], [{ transactions: 1 }], [{ transactions: [1] }]] }],
  [callContext, { good: { blockNumber: 'latest' }, bad: [true, 0, []] }],
  [payloadAttributes, { good: { timestamp: '0x1', prevRandao: HASH, suggestedFeeRecipient: ADDRESS }, bad: BAD_ATTRIBUTES }],
  [rawTransactions, { good: [], bad: [...NO_ARRAY, [1], ['0x1'], [null]] }],
  // Whatever it is, it is not looked at, or looked at later.
  [anything, { good: {}, bad: [] }],
])

/** By name, where a method has a codec of its own. */
const NAMED: Readonly<Record<string, Kind>> = {
  blockCount: { good: '0x1', bad: [true, -1, 1.5, '', 'x', [], {}] },
  rewardPercentiles: { good: [10, 50], bad: [...NO_ARRAY, ['x'], [true]] },
  storageKeys: { good: ['0x1'], bad: [...NO_ARRAY, [1], ['0xzz'], [`0x${'1'.repeat(65)}`]] },
  requests: { good: { [ADDRESS]: [HASH] }, bad: [...NO_OBJECT, { '0x1': [HASH] }, { [ADDRESS]: HASH }, { [ADDRESS]: ['0xzz'] }] },
  filter: {
    good: { fromBlock: '0x1', toBlock: '0x1' },
    bad: [...BAD_FILTERS, { fromBlock: 'pending' }, { fromBlock: '0x2', toBlock: '0x1' }],
  },
  maxResult: { good: 10, bad: [true, '', 'x', 1.5, [], {}] },
  keyStart: { good: '0x', bad: [true, 0, [], {}, '0xzz', 'zz'] },
  slot: { good: '0x1', bad: NO_STRING },
}

/** The kind of a parameter; undefined where this table does not know it yet. */
export const kindOfParam = (param: Param<unknown>): Kind | undefined => KINDS.get(param.codec) ?? NAMED[param.name]
