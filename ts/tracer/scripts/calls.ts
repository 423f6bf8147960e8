// The tree of calls, put together from single steps.

export const callTracerLegacy = `{
  open: [{}],
  entering: false,
  hex: function (number) { return '0x' + bigInt(number).toString(16) },
  top: function () { return this.open[this.open.length - 1] },
  attach: function (call) {
    var parent = this.top()
    if (parent.calls === undefined) parent.calls = []
    parent.calls.push(call)
  },
  range: function (log, at) {
    var from = log.stack.peek(at).valueOf()
    return log.memory.slice(from, from + log.stack.peek(at + 1).valueOf())
  },
  forget: function (call) {
    delete call.gasIn
    delete call.gasCost
    delete call.outOff
    delete call.outLen
  },
  begin: function (call) {
    this.open.push(call)
    this.entering = true
  },
  create: function (log, op) {
    this.begin({
      type: op,
      from: toHex(log.contract.getAddress()),
      input: toHex(this.range(log, 1)),
      gasIn: log.getGas(),
      gasCost: log.getCost(),
      value: '0x' + log.stack.peek(0).toString(16),
    })
  },
  destruct: function (log, db, op) {
    var self = log.contract.getAddress()
    this.attach({
      type: op,
      from: toHex(self),
      to: toHex(toAddress(log.stack.peek(0).toString(16))),
      gasIn: log.getGas(),
      gasCost: log.getCost(),
      value: '0x' + db.getBalance(self).toString(16),
    })
  },
  call: function (log, op, valued) {
    var to = toAddress(log.stack.peek(1).toString(16))
    if (isPrecompiled(to)) return
    var data = valued ? 3 : 2
    var call = {
      type: op,
      from: toHex(log.contract.getAddress()),
      to: toHex(to),
      input: toHex(this.range(log, data)),
      gasIn: log.getGas(),
      gasCost: log.getCost(),
      outOff: log.stack.peek(data + 2).valueOf(),
      outLen: log.stack.peek(data + 3).valueOf(),
    }
    if (valued) call.value = '0x' + log.stack.peek(2).toString(16)
    this.begin(call)
  },
  // The first step behind a call's last: what the call left on the stack and in memory is there.
  end: function (log, db) {
    var call = this.open.pop()
    var left = log.stack.peek(0)
    var made = call.type == 'CREATE' || call.type == 'CREATE2'
    if (made) call.gasUsed = this.hex(call.gasIn - call.gasCost - log.getGas())
    else if (call.gas !== undefined) call.gasUsed = this.hex(call.gasIn - call.gasCost + call.gas - log.getGas())
    if (left.equals(0)) {
      if (call.error === undefined) call.error = 'internal failure'
    } else if (made) {
      var address = toAddress(left.toString(16))
      call.to = toHex(address)
      call.output = toHex(db.getCode(address))
    } else call.output = toHex(log.memory.slice(call.outOff, call.outOff + call.outLen))
    this.forget(call)
    if (call.gas !== undefined) call.gas = this.hex(call.gas)
    this.attach(call)
  },
  step: function (log, db) {
    if (log.getError() !== undefined) return this.fault(log, db)
    var op = (log.op.toNumber() & 0xf0) == 0xf0 ? log.op.toString() : ''
    switch (op) {
      case 'CREATE': case 'CREATE2': return this.create(log, op)
      case 'SELFDESTRUCT': return this.destruct(log, db, op)
      case 'CALL': case 'CALLCODE': return this.call(log, op, true)
      case 'DELEGATECALL': case 'STATICCALL': return this.call(log, op, false)
    }
    if (this.entering) {
      // What the call was really given, stipend and all, shows only inside it. A plain account has no inside.
      if (log.getDepth() >= this.open.length) this.top().gas = log.getGas()
      this.entering = false
    }
    if (op == 'REVERT') this.top().error = 'execution reverted'
    else if (log.getDepth() == this.open.length - 1) this.end(log, db)
  },
  fault: function (log) {
    if (this.top().error !== undefined) return
    var call = this.open.pop()
    call.error = log.getError()
    if (call.gas !== undefined) call.gas = call.gasUsed = this.hex(call.gas)
    this.forget(call)
    if (this.open.length > 0) this.attach(call)
    else this.open.push(call)
  },
  result: function (ctx) {
    var top = this.open[0]
    var error = top.error !== undefined ? top.error : ctx.error
    var call = {
      type: ctx.type,
      from: toHex(ctx.from),
      to: toHex(ctx.to),
      value: '0x' + ctx.value.toString(16),
      gas: this.hex(ctx.gas),
      gasUsed: this.hex(ctx.gasUsed),
      input: toHex(ctx.input),
      output: toHex(ctx.output),
      error: error,
      calls: top.calls,
    }
    if (error !== undefined && (error !== 'execution reverted' || call.output === '0x')) delete call.output
    return this.ordered(call)
  },
  ordered: function (call) {
    var names = ['type', 'from', 'to', 'value', 'gas', 'gasUsed', 'input', 'output', 'error', 'calls']
    var out = {}
    for (var i = 0; i < names.length; i++) if (call[names[i]] !== undefined) out[names[i]] = call[names[i]]
    if (out.calls !== undefined) for (i = 0; i < out.calls.length; i++) out.calls[i] = this.ordered(out.calls[i])
    return out
  },
}`
