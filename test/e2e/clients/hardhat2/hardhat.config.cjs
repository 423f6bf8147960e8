// A hardhat 2 project on a running node. The compiler is the one of the npm package solc: nothing
// is downloaded.
require('@nomicfoundation/hardhat-viem')
// hardhat-ethers sends without an estimate, and its matchers expect errors for transactions that
// revert, so they have a run of their own.
if (process.env.MATCHERS === 'true') require('@nomicfoundation/hardhat-chai-matchers')
const { subtask } = require('hardhat/config')
const { TASK_COMPILE_SOLIDITY_GET_SOLC_BUILD } = require('hardhat/builtin-tasks/task-names')
const { version: installed } = require('solc/package.json')

subtask(TASK_COMPILE_SOLIDITY_GET_SOLC_BUILD, async ({ solcVersion }, _hre, runSuper) => {
  if (solcVersion !== installed) return runSuper()
  return {
    version: installed,
    longVersion: require('solc').version(),
    compilerPath: require.resolve('solc/soljson.js'),
    isSolcJs: true,
  }
})

module.exports = {
  solidity: { version: installed, settings: { optimizer: { enabled: true, runs: 200 }, evmVersion: 'cancun' } },
  networks: { localhost: { url: process.env.NODE_URL } },
  mocha: { reporter: 'json', reporterOptions: { output: process.env.REPORT }, timeout: 60_000 },
}
