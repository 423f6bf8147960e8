// A hardhat 3 project on a running node. The compiler is the one of the npm package solc: nothing
// is downloaded.
import fs from 'node:fs'
import path from 'node:path'
import networkHelpers from '@nomicfoundation/hardhat-network-helpers'
import viem from '@nomicfoundation/hardhat-viem'
import { defineConfig } from 'hardhat/config'

const solc = path.resolve('node_modules/solc')
const { version } = JSON.parse(fs.readFileSync(path.join(solc, 'package.json'), 'utf8'))

export default defineConfig({
  plugins: [viem, networkHelpers],
  solidity: { version, path: path.join(solc, 'soljson.js'), settings: { evmVersion: 'cancun' } },
  networks: { localhost: { type: 'http', url: process.env.NODE_URL ?? '' } },
})
