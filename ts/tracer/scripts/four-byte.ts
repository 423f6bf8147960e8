// Selectors of calls with the length of what follows them, counted.

export const fourByteTracerLegacy = `{
  counts: {},
  // Place on the stack of the offset of the call data, by opcode.
  dataAt: { CALL: 3, CALLCODE: 3, DELEGATECALL: 2, STATICCALL: 2 },
  count: function (selector, length) {
    var key = toHex(selector) + '-' + length
    this.counts[key] = (this.counts[key] || 0) + 1
  },
  step: function (log) {
    var at = this.dataAt[log.op.toString()]
    if (at === undefined || isPrecompiled(toAddress(log.stack.peek(1).toString(16)))) return
    var length = log.stack.peek(at + 1).valueOf()
    if (length < 4) return
    var offset = log.stack.peek(at).valueOf()
    this.count(log.memory.slice(offset, offset + 4), length - 4)
  },
  fault: function () {},
  result: function (ctx) {
    if (ctx.input.length >= 4) this.count(slice(ctx.input, 0, 4), ctx.input.length - 4)
    return this.counts
  },
}`
