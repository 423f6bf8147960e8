// hardhat-viem 3 and the helpers of hardhat-network-helpers 3, checked by the answers of the chain;
// ends with a line of JSON.
import assert from 'node:assert/strict'
import { network } from 'hardhat'

const { viem, networkHelpers, provider } = await network.connect('localhost')
const { time } = networkHelpers
const ETHER = 10n ** 18n
const reader = await viem.getPublicClient()
const [wallet] = await viem.getWalletClients()
const passed = []

let used = 0x4c_0000
const fresh = () => `0x${(++used).toString(16).padStart(40, '0')}`
const head = () => reader.getBlock({ blockTag: 'latest' })
const word = (n) => `0x${n.toString(16).padStart(64, '0')}`

async function check(name, run) {
  await run()
  passed.push(name)
}

await check('deploys, writes, reads events and reverts', async () => {
  const counter = await viem.deployContract('Counter', [7n])
  const hash = await counter.write.add([3n])
  assert.equal((await reader.waitForTransactionReceipt({ hash })).status, 'success')
  assert.equal(await counter.read.count(), 10n)
  const [event] = await counter.getEvents.Counted()
  assert.equal(event.args.count, 10n)
  await assert.rejects(counter.write.add([0n]), /nothing to add/)
  await assert.rejects(counter.simulate.add([101n]), /TooMuch/)
})

await check('setBalance, setCode, setNonce, setStorageAt, getStorageAt', async () => {
  const address = fresh()
  await networkHelpers.setBalance(address, 3n * ETHER)
  await networkHelpers.setCode(address, '0x60016000526001601ff3')
  await networkHelpers.setNonce(address, 9)
  await networkHelpers.setStorageAt(address, 1, 5)
  assert.equal(await reader.getBalance({ address }), 3n * ETHER)
  assert.equal((await reader.call({ to: address })).data, '0x01')
  assert.equal(await reader.getTransactionCount({ address }), 9)
  assert.equal(await networkHelpers.getStorageAt(address, 1), word(5))
})

await check('impersonateAccount, stopImpersonatingAccount', async () => {
  const from = fresh()
  await networkHelpers.setBalance(from, ETHER)
  await networkHelpers.impersonateAccount(from)
  const tx = { from, to: wallet.account.address, value: '0x1' }
  const hash = await provider.request({ method: 'eth_sendTransaction', params: [tx] })
  assert.equal((await reader.waitForTransactionReceipt({ hash })).status, 'success')
  await networkHelpers.stopImpersonatingAccount(from)
  await assert.rejects(provider.request({ method: 'eth_sendTransaction', params: [{ ...tx, gas: '0x5208' }] }))
})

await check('mine, mineUpTo', async () => {
  const before = (await head()).number
  await networkHelpers.mine(5, { interval: 10 })
  assert.equal((await head()).number, before + 5n)
  await networkHelpers.mineUpTo(before + 9n)
  assert.equal((await head()).number, before + 9n)
})

await check('setBlockGasLimit, setCoinbase, setNextBlockBaseFeePerGas, setPrevRandao', async () => {
  const { gasLimit, miner } = await head()
  const coinbase = fresh()
  await networkHelpers.setBlockGasLimit(9_999_999)
  await networkHelpers.setCoinbase(coinbase)
  await networkHelpers.setNextBlockBaseFeePerGas(123_456_789)
  await networkHelpers.setPrevRandao(4242)
  await networkHelpers.mine()
  const block = await head()
  assert.deepEqual([block.gasLimit, block.miner, block.baseFeePerGas, block.mixHash], [9_999_999n, coinbase, 123_456_789n, word(4242)])
  await networkHelpers.setBlockGasLimit(gasLimit)
  await networkHelpers.setCoinbase(miner)
})

await check('takeSnapshot, loadFixture, clearSnapshots', async () => {
  const before = await head()
  const snapshot = await networkHelpers.takeSnapshot()
  await networkHelpers.mine(3)
  await snapshot.restore()
  assert.equal((await head()).hash, before.hash)
  let ran = 0
  async function fixture() {
    ran++
    await networkHelpers.mine(2)
  }
  await networkHelpers.loadFixture(fixture)
  await networkHelpers.mine(2)
  await networkHelpers.loadFixture(fixture)
  assert.equal(ran, 1)
  assert.equal((await head()).number, before.number + 2n)
  networkHelpers.clearSnapshots()
})

await check('time', async () => {
  const before = await time.latest()
  assert.equal(await time.increase(time.duration.days(1)), before + 86_400)
  await time.increaseTo(before + 100_000)
  assert.equal(await time.latest(), before + 100_000)
  await time.setNextBlockTimestamp(before + 200_000)
  await networkHelpers.mine()
  assert.equal(await time.latest(), before + 200_000)
  assert.equal(BigInt(await time.latestBlock()), (await head()).number)
})

await check('dropTransaction', async () => {
  await provider.request({ method: 'evm_setAutomine', params: [false] })
  try {
    const tx = { from: wallet.account.address, to: fresh(), value: '0x1', gas: '0x5208' }
    const hash = await provider.request({ method: 'eth_sendTransaction', params: [tx] })
    assert.equal(await networkHelpers.dropTransaction(hash), true)
    await networkHelpers.mine()
    assert.equal(await provider.request({ method: 'eth_getTransactionReceipt', params: [hash] }), null)
  } finally {
    await provider.request({ method: 'evm_setAutomine', params: [true] })
  }
})

console.log(JSON.stringify({ passed }))
