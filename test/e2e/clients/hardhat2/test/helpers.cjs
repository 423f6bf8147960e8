// Every helper of hardhat-network-helpers 1, by what the chain answers after it.
const assert = require('node:assert/strict')
const helpers = require('@nomicfoundation/hardhat-network-helpers')
const hre = require('hardhat')

const { time } = helpers
const ETHER = 10n ** 18n
const word = (n) => `0x${n.toString(16).padStart(64, '0')}`

let used = 0x4a_0000
const fresh = () => `0x${(++used).toString(16).padStart(40, '0')}`

const ask = (method, params = []) => hre.network.provider.request({ method, params })
const number = async (method, params) => BigInt(await ask(method, params))
const head = () => ask('eth_getBlockByNumber', ['latest', false])
const send = (tx) => ask('eth_sendTransaction', [tx])
/** Sends and waits for the block: anvil gives the hash before it. */
async function sent(tx) {
  const hash = await send(tx)
  for (;;) {
    const receipt = await ask('eth_getTransactionReceipt', [hash])
    if (receipt !== null) return receipt
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}
const balance = (address) => number('eth_getBalance', [address, 'latest'])

/** Cases by the name of their helper. */
const CASES = {
  async dropTransaction() {
    const [from] = await ask('eth_accounts')
    await ask('evm_setAutomine', [false])
    try {
      const to = fresh()
      const hash = await send({ from, to, value: '0x1', gas: '0x5208' })
      assert.equal(await helpers.dropTransaction(hash), true)
      await helpers.mine()
      assert.equal(await ask('eth_getTransactionReceipt', [hash]), null)
      assert.equal(await balance(to), 0n)
    } finally {
      await ask('evm_setAutomine', [true])
    }
  },
  async getStorageAt() {
    const address = fresh()
    await helpers.setStorageAt(address, 5, 6)
    assert.equal(await helpers.getStorageAt(address, 5), word(6))
    assert.equal(await helpers.getStorageAt(address, 6), word(0))
  },
  async 'impersonateAccount and stopImpersonatingAccount'() {
    const [to] = await ask('eth_accounts')
    const from = fresh()
    await helpers.setBalance(from, ETHER)
    await helpers.impersonateAccount(from)
    const receipt = await sent({ from, to, value: '0x1' })
    assert.deepEqual([receipt.status, receipt.from], ['0x1', from])
    await helpers.stopImpersonatingAccount(from)
    await assert.rejects(send({ from, to, value: '0x1', gas: '0x5208' }))
  },
  async mine() {
    const before = BigInt((await head()).number)
    await helpers.mine()
    assert.equal(BigInt((await head()).number), before + 1n)
    const { timestamp } = await head()
    await helpers.mine(10, { interval: 60 })
    const after = await head()
    assert.equal(BigInt(after.number), before + 11n)
    const first = await ask('eth_getBlockByNumber', [`0x${(before + 2n).toString(16)}`, false])
    assert.equal(BigInt(after.timestamp) - BigInt(first.timestamp), 540n)
    assert.ok(BigInt(first.timestamp) > BigInt(timestamp))
    await helpers.mine(1000)
    assert.equal(BigInt((await head()).number), before + 1011n)
  },
  async mineUpTo() {
    const before = await time.latestBlock()
    await helpers.mineUpTo(before + 7)
    assert.equal(await time.latestBlock(), before + 7)
    await assert.rejects(helpers.mineUpTo(before), /Invalid block number/)
  },
  async setBalance() {
    const address = fresh()
    await helpers.setBalance(address, 3n * ETHER)
    assert.equal(await balance(address), 3n * ETHER)
  },
  async setBlockGasLimit() {
    const { gasLimit } = await head()
    await helpers.setBlockGasLimit(9_999_999)
    await helpers.mine()
    assert.equal(BigInt((await head()).gasLimit), 9_999_999n)
    await helpers.setBlockGasLimit(gasLimit)
  },
  async setCode() {
    const address = fresh()
    await helpers.setCode(address, '0x60016000526001601ff3')
    assert.equal(await ask('eth_getCode', [address, 'latest']), '0x60016000526001601ff3')
    assert.equal(await ask('eth_call', [{ to: address }, 'latest']), '0x01')
  },
  async setCoinbase() {
    const { miner } = await head()
    const address = fresh()
    await helpers.setCoinbase(address)
    await helpers.mine()
    assert.equal((await head()).miner, address)
    await helpers.setCoinbase(miner)
  },
  async setNextBlockBaseFeePerGas() {
    await helpers.setNextBlockBaseFeePerGas(123_456_789)
    await helpers.mine()
    assert.equal(BigInt((await head()).baseFeePerGas), 123_456_789n)
  },
  async setNonce() {
    const address = fresh()
    await helpers.setNonce(address, 77)
    assert.equal(await number('eth_getTransactionCount', [address, 'latest']), 77n)
  },
  async setPrevRandao() {
    await helpers.setPrevRandao(4242)
    await helpers.mine()
    assert.equal((await head()).mixHash, word(4242))
  },
  async setStorageAt() {
    const address = fresh()
    await helpers.setStorageAt(address, 1, 1n << 255n)
    assert.equal(await ask('eth_getStorageAt', [address, '0x1', 'latest']), word(1n << 255n))
  },
  async takeSnapshot() {
    const [from] = await ask('eth_accounts')
    const to = fresh()
    const before = await head()
    const snapshot = await helpers.takeSnapshot()
    for (let round = 0; round < 2; round++) {
      await sent({ from, to, value: '0x7' })
      assert.equal(await balance(to), 7n)
      await snapshot.restore()
      assert.equal(await balance(to), 0n)
      assert.equal((await head()).hash, before.hash)
    }
  },
  async 'loadFixture and clearSnapshots'() {
    const [from] = await ask('eth_accounts')
    let ran = 0
    async function fixture() {
      ran++
      const to = fresh()
      await sent({ from, to, value: '0x9' })
      return to
    }
    const first = await helpers.loadFixture(fixture)
    await sent({ from, to: first, value: '0x9' })
    assert.equal(await balance(first), 18n)
    assert.equal(await helpers.loadFixture(fixture), first)
    assert.equal(await balance(first), 9n)
    assert.equal(ran, 1)
    await helpers.clearSnapshots()
    assert.notEqual(await helpers.loadFixture(fixture), first)
    assert.equal(ran, 2)
  },
  async 'time.advanceBlock'() {
    const before = await time.latestBlock()
    assert.equal(await time.advanceBlock(3), before + 3)
  },
  async 'time.advanceBlockTo'() {
    const before = await time.latestBlock()
    await time.advanceBlockTo(before + 4)
    assert.equal(await time.latestBlock(), before + 4)
  },
  async 'time.increase and time.duration'() {
    const before = await time.latest()
    assert.equal(await time.increase(time.duration.days(2)), before + 172_800)
    assert.equal(await time.latest(), before + 172_800)
  },
  async 'time.increaseTo'() {
    const to = (await time.latest()) + 5000
    await time.increaseTo(to)
    assert.equal(await time.latest(), to)
    await assert.rejects(time.increaseTo(to - 10))
  },
  async 'time.latest'() {
    assert.equal(await time.latest(), Number((await head()).timestamp))
  },
  async 'time.latestBlock'() {
    assert.equal(await time.latestBlock(), Number((await head()).number))
  },
  async 'time.setNextBlockTimestamp'() {
    const to = (await time.latest()) + 900
    await time.setNextBlockTimestamp(to)
    await helpers.mine()
    assert.equal(await time.latest(), to)
  },
  // Last: it takes away what the others have made.
  async reset() {
    await helpers.mine(3)
    await helpers.reset()
    assert.equal(await time.latestBlock(), 0)
    const [from] = await ask('eth_accounts')
    assert.equal(await balance(from), 10_000n * ETHER)
  },
}

describe('hardhat-network-helpers', () => {
  it('has a case for every helper', () => {
    const covered = Object.keys(CASES).flatMap((name) => name.split(' and '))
    const all = [...Object.keys(helpers).filter((name) => name !== 'time'), ...Object.keys(time).map((name) => `time.${name}`)]
    assert.deepEqual([...new Set(covered)].sort(), all.sort())
  })
  for (const [name, run] of Object.entries(CASES)) it(name, run)
})
