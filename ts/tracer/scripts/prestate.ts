// Accounts and slots that a transaction looked at, as they were before it.

export const prestateTracerLegacy = `{
  accounts: null,
  account: function (address, db) {
    var key = toHex(address)
    if (this.accounts[key] !== undefined) return
    this.accounts[key] = {
      balance: '0x' + db.getBalance(address).toString(16),
      nonce: db.getNonce(address),
      code: toHex(db.getCode(address)),
      storage: {},
    }
  },
  slot: function (address, key, db) {
    var storage = this.accounts[toHex(address)].storage
    var name = toHex(key)
    if (storage[name] === undefined) storage[name] = toHex(db.getState(address, key))
  },
  // Address in the word at that place of the stack.
  addressAt: function (log, place) { return toAddress(log.stack.peek(place).toString(16)) },
  step: function (log, db) {
    if (this.accounts === null) {
      this.accounts = {}
      this.account(log.contract.getAddress(), db)
    }
    switch (log.op.toString()) {
      case 'BALANCE': case 'EXTCODESIZE': case 'EXTCODECOPY': case 'EXTCODEHASH':
        this.account(this.addressAt(log, 0), db)
        break
      case 'CALL': case 'CALLCODE': case 'DELEGATECALL': case 'STATICCALL':
        this.account(this.addressAt(log, 1), db)
        break
      case 'CREATE':
        var creator = log.contract.getAddress()
        this.account(toContract(creator, db.getNonce(creator)), db)
        break
      case 'CREATE2':
        var start = log.stack.peek(1).valueOf()
        var code = log.memory.slice(start, start + log.stack.peek(2).valueOf())
        this.account(toContract2(log.contract.getAddress(), log.stack.peek(3).toString(16), code), db)
        break
      case 'SLOAD': case 'SSTORE':
        this.slot(log.contract.getAddress(), toWord(log.stack.peek(0).toString(16)), db)
        break
    }
  },
  fault: function () {},
  result: function (ctx, db) {
    if (this.accounts === null) {
      this.accounts = {}
      this.account(ctx.to, db)
    }
    this.account(ctx.from, db)
    var from = this.accounts[toHex(ctx.from)]
    var to = this.accounts[toHex(ctx.to)]
    // Both are read before either is changed: they may be the same account, and then the sender's amount stands.
    var had = bigInt(from.balance.slice(2), 16)
    to.balance = '0x' + bigInt(to.balance.slice(2), 16).subtract(ctx.value).toString(16)
    from.balance = '0x' + had.add(ctx.value).add(ctx.gasUsed * ctx.gasPrice).toString(16)
    from.nonce--
    if (ctx.type == 'CREATE') delete this.accounts[toHex(ctx.to)]
    return this.accounts
  },
}`
