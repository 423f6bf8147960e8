// hardhat-viem 2: clients, deployments, and what failures say.
const assert = require('node:assert/strict')
const { loadFixture } = require('@nomicfoundation/hardhat-network-helpers')
const hre = require('hardhat')

async function counter() {
  return hre.viem.deployContract('Counter', [7n], { value: 5n })
}

describe('hardhat-viem', () => {
  it('getPublicClient, getWalletClients, getWalletClient', async () => {
    const reader = await hre.viem.getPublicClient()
    const wallets = await hre.viem.getWalletClients()
    assert.equal(wallets.length, 10)
    assert.equal(await reader.getChainId(), 31_337)
    const { address } = wallets[3].account
    const same = await hre.viem.getWalletClient(address)
    assert.equal(same.account.address, address)
    const before = await reader.getBalance({ address })
    await reader.waitForTransactionReceipt({ hash: await wallets[0].sendTransaction({ to: address, value: 11n }) })
    assert.equal(await reader.getBalance({ address }), before + 11n)
  })

  it('getTestClient', async () => {
    const client = await hre.viem.getTestClient()
    const reader = await hre.viem.getPublicClient()
    await client.setBalance({ address: '0x00000000000000000000000000000000004b0001', value: 9n })
    assert.equal(await reader.getBalance({ address: '0x00000000000000000000000000000000004b0001' }), 9n)
  })

  it('deployContract and getContractAt', async () => {
    const reader = await hre.viem.getPublicClient()
    const deployed = await loadFixture(counter)
    assert.equal(await deployed.read.count(), 7n)
    assert.equal(await reader.getBalance({ address: deployed.address }), 5n)
    const [{ account }] = await hre.viem.getWalletClients()
    assert.equal((await deployed.read.owner()).toLowerCase(), account.address.toLowerCase())
    const same = await hre.viem.getContractAt('Counter', deployed.address)
    const hash = await same.write.add([3n])
    assert.equal((await reader.getTransactionReceipt({ hash })).status, 'success')
    assert.equal(await deployed.read.count(), 10n)
    const [event] = await same.getEvents.Counted()
    assert.equal(event.args.count, 10n)
  })

  it('sendDeploymentTransaction', async () => {
    const { contract, deploymentTransaction } = await hre.viem.sendDeploymentTransaction('Counter', [1n])
    const reader = await hre.viem.getPublicClient()
    const receipt = await reader.waitForTransactionReceipt({ hash: deploymentTransaction.hash })
    assert.equal(receipt.contractAddress.toLowerCase(), contract.address.toLowerCase())
    assert.equal(await contract.read.count(), 1n)
  })

  it('reverts: a reason, an error of the contract, a panic', async () => {
    const deployed = await loadFixture(counter)
    await assert.rejects(deployed.write.add([0n]), /nothing to add/)
    await assert.rejects(deployed.simulate.add([101n]), /TooMuch\(uint256 asked, uint256 most\)[\s\S]*\(101, 100\)/)
    await assert.rejects(deployed.write.add([101n]), /TooMuch|0x[0-9a-f]*65/)
    await assert.rejects(deployed.read.divide([0n]), /Division or modulo by zero|divided by zero/i)
    assert.equal(await deployed.read.count(), 7n)
  })

  it('a transaction that fails with its gas given is mined, and its hash is the answer', async () => {
    const deployed = await loadFixture(counter)
    const reader = await hre.viem.getPublicClient()
    const hash = await deployed.write.add([0n], { gas: 100_000n })
    const receipt = await reader.getTransactionReceipt({ hash })
    assert.equal(receipt.status, 'reverted')
    assert.equal(receipt.logs.length, 0)
  })
})
