// Hearth's answers to the requests of dev-requests.ts, one line each: errors have go-ethereum's
// texts wherever it has some.

/** Answers by the name of their request. */
export const ANSWERS: Readonly<Record<string, string>> = {
  'a call in a block that does not exist': '-32000 header not found',
  'a balance in a block that does not exist': '-32000 header not found',
  'a block that does not exist': 'null',
  'receipts of a block that does not exist': 'null',
  'a transaction beyond the end of a block': 'null',
  'a call that reverts with a reason': '3 execution reverted: zero is refused [data]',
  'a call that reverts without data': '3 execution reverted [data]',
  'gas of a call that reverts': '3 execution reverted: zero is refused [data]',
  'a call of INVALID': '-32000 invalid opcode: INVALID',
  'a call of an opcode that does not exist': '-32000 invalid opcode: opcode # not defined',
  'a call that underflows the stack': '-32000 stack underflow (# <=> #)',
  'a call that jumps nowhere': '-32000 invalid jump destination',
  'a call with too little gas': '-32000 err: insufficient gas for floor data gas cost: have #, want # (supplied gas #)',
  'a call with less gas than any transaction needs': '-32000 err: intrinsic gas too low: have #, want # (supplied gas #)',
  'a call with value that nobody has': '-32000 err: insufficient funds for gas * price + value: address # have # want # (supplied gas #)',
  'a call whose fee is below the base fee':
    '-32000 err: max fee per gas less than block base fee: address #, maxFeePerGas: #, baseFee: # (supplied gas #)',
  'a call with both kinds of fees': '-32000 both gasPrice and (maxFeePerGas or maxPriorityFeePerGas) specified',
  'a call without a block': '"0x000000000000000000000000000000000000000000000000000000000000002a"',
  'a hash that is too short': '-32602 invalid argument #: hex string has length #, want #',
  'an address that is too short': '-32602 invalid argument #: hex string has length #, want #',
  'no parameters where some are needed': '-32602 missing value for required argument #',
  'a quantity with leading zeros': '-32602 invalid argument #: hex number with leading zero digits',
  'a tag that does not exist': '-32602 invalid argument #: hex string without #x prefix',
  'a storage key that is short': '"0x000000000000000000000000000000000000000000000000000000000000002a"',
  'a method that does not exist': '-32601 the method eth_nothing does not exist/is not available',
  'logs of blocks the wrong way round': '-32602 invalid block range params',
  'logs of a block hash and of numbers':
    '-32602 invalid argument #: cannot specify both BlockHash and FromBlock/ToBlock, choose one or the other',
  'logs of a block that does not exist': '-32602 block range extends beyond current head block',
  'bytes that are no transaction': '-32000 transaction type not supported',
  'sending from somebody else': '-32000 unknown account',
  'sending with a nonce that was used': '-32000 nonce too low: next nonce #, tx nonce #',
  'sending with less gas than needed': '-32000 intrinsic gas too low: gas #, minimum needed #',
  'sending what fails, without gas': '3 execution reverted: zero is refused [data]',
  'sending data and input that differ':
    '-32000 both "data" and "input" are set and not equal. Please use "input" to pass transaction call data',
  'a trace of a transaction that does not exist': '-32000 transaction not found',
  'a trace with a tracer that does not exist':
    '-32000 unknown tracer "nothingTracer"; known: callTracer, prestateTracer, flatCallTracer, parityTracer, #byteTracer, noopTracer, muxTracer, erc#Tracer, keccak#PreimageTracer, opcodeTracer, opcountTracer, unigramTracer, bigramTracer, trigramTracer, evmdisTracer, #byteTracerLegacy, callTracerLegacy, prestateTracerLegacy, noopTracerLegacy',
  'a trace of a transaction':
    '{"from":"OWNER","gas":"0xf4240","gasUsed":"0xad7d","input":"0x60fe47b1000000000000000000000000000000000000000000000000000000000000002a","to":"CONTRACT","type":"CALL","value":"0x0"}',
  'a trace of a call that reverts':
    '{"error":"execution reverted","from":"0x0000000000000000000000000000000000000000","gas":"0xf4240","gasUsed":"0x53e8","input":"0x60fe47b10000000000000000000000000000000000000000000000000000000000000000","output":"0x08c379a00000000000000000000000000000000000000000000000000000000000000020000000000000000000000000000000000000000000000000000000000000000f7a65726f20697320726566757365640000000000000000000000000000000000","revertReason":"zero is refused","to":"CONTRACT","type":"CALL","value":"0x0"}',
  'four bytes of a transaction': '{"0x60fe47b1-32":1}',
  'the bytes of a transaction that does not exist': '"0x"',
  'history of fees of no blocks': '{"gasUsedRatio":null,"oldestBlock":"0x0"}',
  'history of fees, percentiles that fall': '-32000 invalid reward percentile: ##:#.# >= ##:#.#',
  'whether it synchronises': 'false',
  'a filter that does not exist': '-32000 filter not found',
  'uncles of a block': '"0x0"',
  'a proof in a block that does not exist': '-32000 header not found',
  'the pool': '{"pending":"0x0","queued":"0x0"}',
  'an access list':
    '{"accessList":[{"address":"CONTRACT","storageKeys":["0x0000000000000000000000000000000000000000000000000000000000000000"]}],"gasUsed":"0x63ad"}',
  'simulation of blocks whose numbers fall': '-38020 block numbers must be in order: # <= #',
  'an override of an account’s code': '"0x01"',
  'an override of both state and stateDiff': "-32000 account # has both 'state' and 'stateDiff'",
}
