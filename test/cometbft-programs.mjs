// Programs of CometBFT for tests and benches: those that are on the machine, or built by
// `go install` into the cache, once a machine.
import { spawn, spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { CACHE } from '../native/setup/env.mjs'
import { once } from '../native/setup/once.mjs'

/** The versions that are tested: 0.38, which is quicker to build and whose mempool is `flood`, and
 * 0.40 with the mempool `app`. */
export const VERSIONS = /** @type {const} */ (['0.38.26', '0.40.0'])

/**
 * The version of tests that run on one: the first, or the one that HEARTH_TEST_COMETBFT_VERSION
 * names.
 */
export const TESTED_VERSION = VERSIONS.find((version) => version === process.env.HEARTH_TEST_COMETBFT_VERSION) ?? VERSIONS[0]

const MODULE = 'github.com/cometbft/cometbft'

/** Packages by the name of their program. */
const PACKAGES = { cometbft: `${MODULE}/cmd/cometbft`, 'abci-cli': `${MODULE}/abci/cmd/abci-cli` }

/** How long a build may take, in milliseconds: version 0.40 takes six minutes on two processors. */
const BUILD_MS_MAX = 1_500_000

/** Characters of the output of a failed build that are kept. */
const OUTPUT_MAX = 500

/** Builds a program into a folder; undefined where that worked, else why it did not. */
function goInstall(what, dir) {
  const env = { ...process.env, GOBIN: dir, GOTOOLCHAIN: 'local', GOFLAGS: '' }
  const child = spawn('go', ['install', what], { env, stdio: ['ignore', 'pipe', 'pipe'], timeout: BUILD_MS_MAX })
  let text = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (data) => {
      text = (text + data).slice(-OUTPUT_MAX)
    })
  return new Promise((resolve) => {
    child.once('error', (e) => resolve(String(e)))
    child.once('close', (code) => resolve(code === 0 ? undefined : text.trim()))
  })
}

/**
 * A program of CometBFT. HEARTH_TEST_COMETBFT names a folder that may have it already, as
 * `cometbft-0.38` or `abci-cli-0.38`.
 *
 * @param {typeof VERSIONS[number]} version
 * @param {keyof typeof PACKAGES} name
 * @returns {Promise<{ readonly program: string } | { readonly missing: string }>}
 */
export async function cometbftProgram(version, name = 'cometbft') {
  const short = version.split('.').slice(0, 2).join('.')
  const given = process.env.HEARTH_TEST_COMETBFT
  const there = given && path.join(given, `${name}-${short}`)
  if (there && fs.existsSync(there)) return { program: there }
  if (spawnSync('go', ['version']).status !== 0) return { missing: 'Go is not installed, which builds CometBFT' }
  const dir = path.join(CACHE, `cometbft-${version}-${name}`)
  const program = path.join(dir, name)
  let missing
  await once(program, `${name} ${version}`, async () => {
    const partial = `${dir}.partial-${process.pid}`
    fs.rmSync(partial, { recursive: true, force: true })
    fs.mkdirSync(partial, { recursive: true })
    const failed = await goInstall(`${PACKAGES[name]}@v${version}`, partial)
    if (failed === undefined) {
      // A rename publishes it whole.
      fs.rmSync(dir, { recursive: true, force: true })
      fs.renameSync(partial, dir)
    } else {
      fs.rmSync(partial, { recursive: true, force: true })
      missing = `go install ${PACKAGES[name]}@v${version} failed: ${failed.split('\n').at(-1)}`
    }
  })
  return missing === undefined ? { program } : { missing }
}
