// hardhat as a user runs it, with `hearth dev` as its network `localhost`: hardhat-viem,
// hardhat-chai-matchers and every helper of hardhat-network-helpers.
import fs from 'node:fs'
import path from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { clients } from './clients/install.ts'
import { type Project, project } from './clients/project.ts'
import { type DevNode, startDev, startNamed } from './dev-node.ts'
import { nodesBeside, testsOn } from './peer.ts'
import { until } from './waiting.ts'

/** What mocha's reporter writes. */
interface Report {
  readonly stats: { readonly tests: number; readonly passes: number; readonly failures: number }
  readonly failures: readonly { readonly fullTitle: string; readonly err: { readonly message?: string } }[]
}

/** Tests of the project in `clients/hardhat2`. */
const TESTS = 30

/** Where anvil 1.7.1 does not do what a test of the project says, and why. */
const ANVIL_DIFFERS: Readonly<Record<string, string>> = {
  // It answers the hash, where hardhat and its helper say whether there was such a transaction.
  'hardhat-network-helpers dropTransaction': '- true',
  'hardhat-network-helpers setPrevRandao': 'Method not found',
}

const installed = await clients('node20')

describe.each(nodesBeside('anvil', 'hardhat 2'))('hardhat 2 on %s', (name) => {
  const { before, test } = testsOn(name)
  if ('missing' in installed) {
    it.skip(`skipped: hardhat 2 on ${name}: ${installed.missing}`, () => undefined)
    return
  }
  let node: DevNode
  let made: Project

  before(async () => {
    node = await startNamed(name)
    made = project('hardhat2', installed)
  })
  afterAll(async () => {
    await node?.stop()
    made?.remove()
  })

  test('compiles, deploys, reverts, and uses every helper', async () => {
    const report = path.join(made.dir, 'report.json')
    const env = { NODE_URL: node.url, REPORT: report, HARDHAT_DISABLE_TELEMETRY_PROMPT: 'true' }
    const hardhat = path.join(made.dir, 'node_modules/hardhat/internal/cli/bootstrap.js')
    const ended = await made.run(process.execPath, [hardhat, 'test', '--network', 'localhost'], env)
    if (!fs.existsSync(report)) throw new Error(`hardhat ended with ${ended.code}:\n${ended.out}\n${ended.err}`)
    const { stats, failures } = JSON.parse(fs.readFileSync(report, 'utf8')) as Report
    const unexpected = failures.filter(({ fullTitle, err }) => {
      const differs = name === 'anvil' ? ANVIL_DIFFERS[fullTitle] : undefined
      return differs === undefined || !err.message?.includes(differs)
    })
    expect(unexpected.map(({ fullTitle, err }) => `${fullTitle}: ${err.message}`)).toEqual([])
    expect(stats.tests).toBe(TESTS)
    if (name === 'hearth') {
      expect(stats.passes).toBe(TESTS)
      expect(ended.code).toBe(0)
      // What contracts print with hardhat's library stands in the node's output, soon.
      await until('the output of console.log', () => node.log().includes('count is 10'))
    } else {
      expect(stats.failures).toBe(Object.keys(ANVIL_DIFFERS).length)
    }
  }, 300_000)
})

describe('hardhat-chai-matchers 2 on hearth', () => {
  if ('missing' in installed) {
    it.skip(`skipped: hardhat-chai-matchers: ${installed.missing}`, () => undefined)
    return
  }
  it('see that transactions revert, and why', async () => {
    const node = await startDev(['--throw-on-revert'])
    const made = project('hardhat2', installed)
    try {
      const report = path.join(made.dir, 'report.json')
      const env = { NODE_URL: node.url, REPORT: report, MATCHERS: 'true', HARDHAT_DISABLE_TELEMETRY_PROMPT: 'true' }
      const hardhat = path.join(made.dir, 'node_modules/hardhat/internal/cli/bootstrap.js')
      const ended = await made.run(process.execPath, [hardhat, 'test', '--network', 'localhost', 'matchers.cjs'], env)
      if (!fs.existsSync(report)) throw new Error(`hardhat ended with ${ended.code}:\n${ended.out}\n${ended.err}`)
      const { stats, failures } = JSON.parse(fs.readFileSync(report, 'utf8')) as Report
      expect(failures.map(({ fullTitle, err }) => `${fullTitle}: ${err.message}`)).toEqual([])
      expect([stats.tests, stats.passes, ended.code]).toEqual([5, 5, 0])
    } finally {
      made.remove()
      await node.stop()
    }
  }, 300_000)
})

describe('hardhat 3 on hearth', async () => {
  const installed = await clients('node22')
  if ('missing' in installed) {
    it.skip(`skipped: hardhat 3: ${installed.missing}`, () => undefined)
    return
  }
  it('compiles, deploys, reverts, and uses every helper', async () => {
    const node = await startNamed('hearth')
    const made = project('hardhat3', installed)
    try {
      fs.cpSync(path.join(import.meta.dirname, 'clients/hardhat2/contracts'), path.join(made.dir, 'contracts'), { recursive: true })
      const hardhat = path.join(made.dir, 'node_modules/hardhat/dist/src/cli.js')
      const args = [hardhat, 'run', 'scripts/check.js', '--network', 'localhost']
      const { code, out, err } = await made.run(process.execPath, args, { NODE_URL: node.url, HARDHAT_DISABLE_TELEMETRY_PROMPT: 'true' })
      if (code !== 0) throw new Error(`hardhat ended with ${code}:\n${out}\n${err}`)
      expect(JSON.parse(out.trim().split('\n').at(-1) as string).passed).toHaveLength(8)
    } finally {
      made.remove()
      await node.stop()
    }
  }, 300_000)
})
