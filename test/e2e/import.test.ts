// Import and export as operators use them: round trip, twice, after kill -9, and refusals.
import fs from 'node:fs'
import path from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { createWalletClient, http } from 'viem'
import { mnemonicToAccount } from 'viem/accounts'
import { hardhat } from 'viem/chains'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { endOf, hearth, rpc, spawnHearth, startNode, tempHome } from './harness.ts'

/** Blocks of the chain that the tests import. */
const BLOCKS = 300

const dir = tempHome()
const chain = path.join(dir, 'chain.rlp')
const genesis = path.join(dir, 'genesis.json')
const home = (name: string): string => path.join(dir, name)
let head: { number: string; hash: string }

// The chain comes from a development node: one block for each transaction.
beforeAll(async () => {
  const node = await startNode(['dev', '--home', home('dev'), '--state-commit.flatkv.fsync=none'])
  const account = mnemonicToAccount('test test test test test test test test test test test junk')
  const wallet = createWalletClient({ account, chain: hardhat, transport: http(node.url) })
  for (let nonce = 0; nonce < BLOCKS; nonce++) {
    await wallet.sendTransaction({
      to: `0x${(0x1000 + nonce + 1).toString(16).padStart(40, '0')}`,
      value: 1n,
      nonce,
      gas: 21_000n,
      maxFeePerGas: 10n ** 10n,
      maxPriorityFeePerGas: 1n,
    })
  }
  head = (await rpc(node.url, 'eth_getBlockByNumber', ['latest', false])).result as typeof head
  expect(Number(head.number)).toBe(BLOCKS)
  expect(await node.stop()).toBe(0)
  fs.copyFileSync(path.join(home('dev'), 'config', 'genesis.json'), genesis)
  const exported = hearth(['export', '--home', home('dev'), chain])
  expect([exported.status, exported.stdout]).toEqual([0, `exported ${BLOCKS} blocks to ${chain}\n`])
})
afterAll(() => fs.rmSync(dir, { recursive: true, force: true }))

describe('import', () => {
  it('verifies a chain, serves it, and exports the same bytes', async () => {
    const first = hearth(['import', '--home', home('a'), '--genesis', genesis, chain])
    expect(first.status).toBe(0)
    expect(first.stdout).toContain(`imported ${BLOCKS} blocks`)
    expect(first.stdout).toContain(head.hash)
    const again = hearth(['import', '--home', home('a'), chain])
    expect(again.status).toBe(0)
    expect(again.stdout).toContain(`imported 0 blocks`)
    expect(again.stdout).toContain(`${BLOCKS} were there already`)

    const out = path.join(dir, 'out.rlp')
    expect(hearth(['export', '--home', home('a'), out]).status).toBe(0)
    expect(fs.readFileSync(out).equals(fs.readFileSync(chain))).toBe(true)
    expect(hearth(['export', '--home', home('a'), '--force', '--with-genesis', out]).stdout).toContain(`exported ${BLOCKS + 1} blocks`)
    expect(hearth(['import', '--home', home('b'), '--genesis', genesis, out]).status).toBe(0)
    expect(hearth(['export', '--home', home('a'), '--force', '--from', '3', '--to', '5', out]).stdout).toContain('exported 3 blocks')

    const node = await startNode(['start', '--home', home('a')])
    expect((await rpc(node.url, 'eth_getBlockByNumber', ['finalized', false])).result).toMatchObject({ hash: head.hash })
    expect((await rpc(node.url, 'eth_getBalance', [`0x${'1007'.padStart(40, '0')}`, '0x6'])).result).toBe('0x0')
    expect((await rpc(node.url, 'eth_getBalance', [`0x${'1007'.padStart(40, '0')}`, '0x7'])).result).toBe('0x1')
    const busy = hearth(['import', '--home', home('a'), chain])
    expect([busy.status, busy.stdout]).toEqual([0, expect.stringContaining('imported 0 blocks')])
    expect(busy.stderr).toContain('a node runs on this data directory: it imports the blocks')
    expect(await node.stop()).toBe(0)
  })

  it('goes on after kill -9', async () => {
    let killed = 0
    // Earlier each time: a quick machine may be through before it is killed.
    for (let attempt = 0; attempt < 10 && killed < 2; attempt++)
      if ((await interrupt('killed', 'SIGKILL', 20_000 >> attempt)) === 'SIGKILL') killed++
    expect(killed).toBeGreaterThan(0)
    const last = hearth(['import', '--home', home('killed'), '--genesis', genesis, chain])
    expect([last.status, last.stderr]).toEqual([0, ''])
    expect(last.stdout).toMatch(/\d+ were there already/)
    expect(last.stdout).toContain(head.hash)
    const out = path.join(dir, 'killed.rlp')
    expect(hearth(['export', '--home', home('killed'), out]).status).toBe(0)
    expect(fs.readFileSync(out).equals(fs.readFileSync(chain))).toBe(true)
  })

  it('stops cleanly on SIGTERM and can be continued', async () => {
    expect([0, 130]).toContain(await interrupt('stopped', 'SIGTERM'))
    const rest = hearth(['import', '--home', home('stopped'), '--genesis', genesis, chain])
    expect(rest.status).toBe(0)
    expect(rest.stdout).toContain(head.hash)
  })
})

/** Bytes of a home's log. */
function logBytes(name: string): number {
  const wal = path.join(home(name), 'data', 'wal')
  return fs.existsSync(wal) ? fs.readdirSync(wal).reduce((sum, file) => sum + fs.statSync(path.join(wal, file)).size, 0) : 0
}

/**
 * Imports the chain, each block forced to the disk, and sends a signal once so many bytes have been
 * committed; resolves to how it ended.
 */
async function interrupt(name: string, signal: NodeJS.Signals, bytes = 20_000): Promise<number | string | null> {
  const before = logBytes(name)
  const importing = spawnHearth(['import', '--home', home(name), '--genesis', genesis, '--state-commit.flatkv.fsync=block', chain])
  let over = false
  const ended = endOf(importing)
  void ended.then(() => {
    over = true
  })
  // One block is some hundred bytes; the log's first bytes are the genesis.
  while (!over && logBytes(name) < before + bytes) await setTimeout(2)
  importing.kill(signal)
  return ended
}

describe('refusals', () => {
  const refused = (...args: string[]): string => {
    const r = hearth(['import', ...args])
    expect(r.status).toBe(1)
    expect(r.stderr).toMatch(/^error: /)
    return r.stderr
  }

  it('a cut file names the offset, and the blocks before are kept', () => {
    const cut = path.join(dir, 'cut.rlp')
    fs.writeFileSync(cut, fs.readFileSync(chain).subarray(0, -5))
    expect(refused('--home', home('cut'), '--genesis', genesis, cut)).toMatch(/cut\.rlp.*byte \d+/)
    const out = path.join(dir, 'kept.rlp')
    expect(hearth(['export', '--home', home('cut'), out]).stdout).toContain(`exported ${BLOCKS - 1} blocks`)
  })

  it('a changed block names the field, expected and got', () => {
    const bytes = fs.readFileSync(chain)
    const spoilt = path.join(dir, 'spoilt.rlp')
    // The last 100 bytes lie in the last block's only transaction.
    bytes[bytes.length - 40] = (bytes[bytes.length - 40] as number) ^ 1
    fs.writeFileSync(spoilt, bytes)
    expect(refused('--home', home('spoilt'), '--genesis', genesis, spoilt)).toMatch(
      /block 300 .*transactions root.*0x[0-9a-f]{64}.*0x[0-9a-f]{64}/,
    )
  })

  it('another chain, no genesis, a genesis that does not read', () => {
    const other = path.join(dir, 'other.json')
    const json = JSON.parse(fs.readFileSync(genesis, 'utf8')) as { gasLimit: string }
    fs.writeFileSync(other, JSON.stringify({ ...json, gasLimit: '0x1000000' }))
    expect(hearth(['import', '--home', home('c'), '--genesis', genesis, chain]).status).toBe(0)
    expect(refused('--home', home('c'), '--genesis', other, chain)).toMatch(/another chain/)
    expect(refused('--home', home('empty'), chain)).toMatch(/has no chain yet|holds no chain/)
    const bad = path.join(dir, 'bad.json')
    fs.writeFileSync(bad, JSON.stringify({ ...json, gasLimit: 'much' }))
    expect(refused('--home', home('d'), '--genesis', bad, chain)).toMatch(/bad\.json.*gasLimit/i)
    expect(fs.existsSync(path.join(home('d'), 'data'))).toBe(false)
  })
})
