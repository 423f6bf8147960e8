// Tracers to begin with.

export interface Example {
  readonly name: string
  readonly tracer: string
  readonly config: string
}

/** In JavaScript, as go-ethereum takes them (docs/scripts.md). */
export const EXAMPLES: readonly Example[] = [
  {
    name: 'steps by opcode',
    config: '',
    tracer: `{
  counts: {},
  step: function (log, db) {
    var op = log.op.toString()
    this.counts[op] = (this.counts[op] || 0) + 1
  },
  fault: function (log, db) {},
  result: function (ctx, db) { return this.counts },
}`,
  },
  {
    name: 'slots that are written',
    config: '',
    tracer: `{
  writes: [],
  step: function (log, db) {
    if (log.op.toString() !== 'SSTORE') return
    this.writes.push({
      address: toHex(log.contract.getAddress()),
      slot: '0x' + log.stack.peek(0).toString(16),
      value: '0x' + log.stack.peek(1).toString(16),
      pc: log.getPC(),
      gas: log.getCost(),
    })
  },
  fault: function (log, db) {},
  result: function (ctx, db) { return this.writes },
}`,
  },
  {
    name: 'calls with their gas',
    config: '',
    tracer: `{
  calls: [],
  enter: function (frame) {
    this.calls.push({ type: frame.getType(), to: toHex(frame.getTo()), input: toHex(frame.getInput()).slice(0, 10), gas: frame.getGas() })
  },
  exit: function (result) {},
  fault: function (log, db) {},
  result: function (ctx, db) { return this.calls },
}`,
  },
]

const named = (name: string, config = ''): Example => ({ name, tracer: name, config })

/** Of the node: built in, and scripts that come with it. */
export const TRACERS: readonly Example[] = [
  named('callTracer', '{"withLog": true}'),
  named('flatCallTracer'),
  named('prestateTracer', '{"diffMode": true}'),
  named('4byteTracer'),
  named('keccak256PreimageTracer'),
  named('erc7562Tracer'),
  named('opcodeTracer'),
  named('parityTracer'),
  named('muxTracer', '{"callTracer": {}, "4byteTracer": {}}'),
  named('opcountTracer'),
  named('unigramTracer'),
  named('bigramTracer'),
  named('evmdisTracer'),
]
