// The generated chain that benches run on: made once a machine, kept in the cache.
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { cargo } from '../../native/setup/cargo.mjs'
import { CACHE, ROOT } from '../../native/setup/env.mjs'

/**
 * The target triple of this machine: the build of the core names it too, so that compiled
 * dependencies are shared.
 */
const host = () => /^host: (.*)$/m.exec(execFileSync('rustc', ['-vV'], { encoding: 'utf8' }))?.[1] ?? ''

/** Runs an example of the chain's crate, built for release; throws where it fails. */
export async function runExample(name, args) {
  const example = ['run', '--release', '--quiet', '--target', host(), '-p', 'hearth-chain', '--example', name, '--', ...args.map(String)]
  if ((await cargo(example, { cwd: ROOT })) !== 0) throw new Error(`the example ${name} of the bench failed`)
}

/** Changes whenever the generator makes another chain for the same numbers. */
const GENERATOR = 2

/**
 * Generates a chain of `blocks` blocks whose transactions grow from `least` to `most` per block,
 * over `accounts` accounts of the genesis (0: senders only), all of them the same call if `equal`
 * is set. Returns the folder with genesis.json and chain.rlp, the number of blocks, transactions
 * and gas, and the root of the last block.
 */
export async function generatedChain({ blocks, least, most, accounts = 0, equal = false }) {
  const dir = path.join(
    CACHE,
    `bench-chain-${GENERATOR}-${blocks}-${least}-${most}${accounts ? `-${accounts}` : ''}${equal ? '-equal' : ''}`,
  )
  const facts = path.join(dir, 'facts.json')
  if (!fs.existsSync(facts)) {
    fs.rmSync(dir, { recursive: true, force: true })
    fs.mkdirSync(dir, { recursive: true })
    await runExample('generate_chain', [dir, blocks, least, most, accounts, ...(equal ? ['equal'] : [])])
  }
  return { dir, ...JSON.parse(fs.readFileSync(facts, 'utf8')) }
}
