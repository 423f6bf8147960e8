// hardhat-ethers 3 and hardhat-chai-matchers 2 with their defaults: a fixed gas limit and no
// estimate, so only the answer to a transaction shows that it reverts.
const { expect } = require('chai')
const hre = require('hardhat')

async function counter() {
  const contract = await hre.ethers.deployContract('Counter', [7n])
  await contract.waitForDeployment()
  return contract
}

describe('hardhat-chai-matchers', () => {
  it('reverted', async () => {
    await expect((await counter()).add(0n)).to.be.reverted
  })

  it('revertedWith', async () => {
    await expect((await counter()).add(0n)).to.be.revertedWith('nothing to add')
  })

  it('revertedWithCustomError and its arguments', async () => {
    const contract = await counter()
    await expect(contract.add(101n)).to.be.revertedWithCustomError(contract, 'TooMuch').withArgs(101n, 100n)
  })

  it('revertedWithPanic of a transaction', async () => {
    const contract = await counter()
    const data = contract.interface.encodeFunctionData('divide', [0n])
    const [sender] = await hre.ethers.getSigners()
    await expect(sender.sendTransaction({ to: await contract.getAddress(), data })).to.be.revertedWithPanic(0x12)
  })

  it('emit, and not reverted', async () => {
    const contract = await counter()
    const [sender] = await hre.ethers.getSigners()
    await expect(contract.add(3n)).to.emit(contract, 'Counted').withArgs(sender.address, 10n)
    await expect(contract.add(1n)).not.to.be.reverted
    expect(await contract.count()).to.equal(11n)
  })
})
