// The input of a disassembler: opcodes with the items that they left on the stack, calls with the
// opcodes inside them.

export const evmdisTracer = `{
  frames: [{ ops: [] }],
  // Words that an opcode leaves on the stack, as the name's answers have always counted them.
  results: function (op) {
    if (op >= 0x80 && op <= 0x8f) return op - 0x80 + 2
    if (op >= 0x90 && op <= 0x9f) return op - 0x90 + 2
    if (op >= 0x60 && op <= 0x7f) return 1
    if (op >= 1 && op <= 11 || op >= 16 && op <= 26) return 1
    switch (op) {
      case 32: case 48: case 49: case 50: case 51: case 52: case 53: case 54: case 56: case 58: case 59:
      case 64: case 65: case 66: case 67: case 68: case 69: case 81: case 84: case 88: case 89: case 90:
      case 240: case 241: case 242:
        return 1
    }
    return 0
  },
  descend: function (log, entry, value, dataAt) {
    var start = log.stack.peek(dataAt).valueOf()
    var length = log.stack.peek(dataAt + 1).valueOf()
    if (!value) entry.op = log.op.toString()
    entry.gas = log.stack.peek(0).valueOf()
    entry.to = log.stack.peek(1).toString(16)
    if (value) entry.value = log.stack.peek(2).toString()
    entry.input = log.memory.slice(start, start + length)
    entry.error = null
    entry['return'] = null
    entry.ops = []
    this.frames.push(entry)
  },
  step: function (log) {
    var frame = this.frames[this.frames.length - 1]
    var error = log.getError()
    if (error) {
      frame.error = error
      return
    }
    if (log.getDepth() != this.frames.length) {
      this.frames = this.frames.slice(0, log.getDepth())
      return
    }
    var entry = { op: log.op.toNumber(), depth: log.getDepth(), result: [] }
    if (frame.ops.length > 0) {
      var last = frame.ops[frame.ops.length - 1]
      for (var i = 0, n = this.results(last.op); i < n; i++) last.result.push(log.stack.peek(i).toString(16))
    }
    switch (log.op.toString()) {
      case 'CALL': case 'CALLCODE':
        this.descend(log, entry, true, 3)
        break
      case 'DELEGATECALL': case 'STATICCALL':
        this.descend(log, entry, false, 2)
        break
      case 'RETURN': case 'REVERT':
        var from = log.stack.peek(0).valueOf()
        frame['return'] = log.memory.slice(from, from + log.stack.peek(1).valueOf())
        break
      case 'STOP': case 'SELFDESTRUCT':
        frame['return'] = log.memory.slice(0, 0)
        break
      case 'JUMPDEST':
        entry.pc = log.getPC()
        break
    }
    if (log.op.isPush()) entry.len = log.op.toNumber() - 0x5e
    frame.ops.push(entry)
  },
  fault: function () {},
  result: function () { return this.frames[0].ops },
}`
