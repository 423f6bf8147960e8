// The generated chain that benches run on: made once a machine, kept in the cache.
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { cargo } from '../../native/setup/cargo.mjs'
import { CACHE, ROOT } from '../../native/setup/env.mjs'

/** The machine's own target, by name: the build of the core names it too, so that its compiled dependencies serve here. */
const host = () => /^host: (.*)$/m.exec(execFileSync('rustc', ['-vV'], { encoding: 'utf8' }))[1]

/** Changes whenever the generator makes another chain for the same numbers. */
const GENERATOR = 2

/**
 * A chain of `blocks` blocks whose transactions grow from `least` to `most` a block, over `accounts` accounts that the genesis has (0: none
 * but senders): the folder with genesis.json and chain.rlp, and its blocks, transactions and gas, and the root of its last block.
 */
export async function generatedChain({ blocks, least, most, accounts = 0 }) {
  const dir = path.join(CACHE, `bench-chain-${GENERATOR}-${blocks}-${least}-${most}${accounts ? `-${accounts}` : ''}`)
  const facts = path.join(dir, 'facts.json')
  if (!fs.existsSync(facts)) {
    fs.rmSync(dir, { recursive: true, force: true })
    fs.mkdirSync(dir, { recursive: true })
    const example = ['run', '--release', '--quiet', '--target', host(), '-p', 'hearth-chain', '--example', 'generate_chain', '--']
    const status = await cargo([...example, dir, String(blocks), String(least), String(most), String(accounts)], { cwd: ROOT })
    if (status !== 0) throw new Error('the generator of the bench chain failed')
  }
  return { dir, ...JSON.parse(fs.readFileSync(facts, 'utf8')) }
}
