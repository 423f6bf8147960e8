// A backup while the node mines without pause: restored, it is the chain at one height, with the
// root of that height, and can continue.
import fs from 'node:fs'
import path from 'node:path'
import { createWalletClient, http } from 'viem'
import { mnemonicToAccount } from 'viem/accounts'
import { hardhat } from 'viem/chains'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { BackupReport, VerifyReport } from '../../ts/core/db.ts'
import { hearth, type RunningNode, rpc, spawnHearth, startNode, tempHome } from './harness.ts'

/** Blocks between two snapshots, from which backups take the state. */
const INTERVAL = 25
/** Backups that are made one after the other. */
const BACKUPS = 3
const FAST = '--state-commit.flatkv.fsync=none'

const dir = tempHome()
const home = path.join(dir, 'home')
const backups = path.join(dir, 'backups')
const account = mnemonicToAccount('test test test test test test test test test test test junk')
let node: RunningNode
let mined = 0
let load: Promise<void>
let over = false

const receiver = (nonce: number): `0x${string}` => `0x${(0x1000 + nonce).toString(16).padStart(40, '0')}`

async function pay(url: string, nonce: number): Promise<void> {
  const wallet = createWalletClient({ account, chain: hardhat, transport: http(url) })
  const fees = { gas: 21_000n, maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 1n }
  await wallet.sendTransaction({ to: receiver(nonce), value: 1n, nonce, ...fees })
}

beforeAll(async () => {
  node = await startNode(['dev', '--home', home, FAST, `--state-commit.flatkv.snapshot_interval_blocks=${INTERVAL}`])
  load = (async () => {
    while (!over) await pay(node.url, mined++)
  })()
  while (!fs.existsSync(path.join(home, 'data', 'state', 'snapshots')) || mined < 2 * INTERVAL) {
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
})
afterAll(async () => {
  over = true
  await load
  expect(await node.stop()).toBe(0)
  fs.rmSync(dir, { recursive: true, force: true })
})

/** Runs a backup while this process continues to load the node. */
async function backup(): Promise<BackupReport> {
  const child = spawnHearth(['backup', '--home', home, '--to', backups, '--json'])
  let [out, err] = ['', '']
  child.stdout?.on('data', (data) => {
    out += data
  })
  child.stderr?.on('data', (data) => {
    err += data
  })
  const code = await new Promise((resolve) => child.once('close', resolve))
  expect(code, err).toBe(0)
  return JSON.parse(out) as BackupReport
}

describe('backups under load', () => {
  const made: BackupReport[] = []

  it('are of one height each, while blocks are mined', async () => {
    for (let n = 0; n < BACKUPS; n++) {
      const before = mined
      const report = await backup()
      made.push(report)
      expect(mined).toBeGreaterThan(before)
      expect([report.besideNode, report.head.height >= before - 1, report.head.height <= mined]).toEqual([true, true, true])
      const block = (await rpc(node.url, 'eth_getBlockByNumber', [`0x${report.head.height.toString(16)}`, false])).result
      expect(block).toMatchObject({ hash: report.head.hash, stateRoot: report.head.commitment })
    }
    expect(made[BACKUPS - 1]?.linked.files).toBeGreaterThan(0)
    expect((made[BACKUPS - 1]?.head.height ?? 0) > (made[0]?.head.height ?? 0)).toBe(true)
  })

  it('open, verify, and go on from their head', async () => {
    for (const [n, { dir: from, head }] of made.entries()) {
      const restored = path.join(dir, `restored-${n}`)
      fs.cpSync(from, restored, { recursive: true })
      const verified = hearth(['db', 'verify', '--home', restored, '--json'])
      const report = JSON.parse(verified.stdout) as VerifyReport
      expect([report.found, report.head.height, report.head.commitment]).toEqual([0, head.height, head.commitment])
      const other = await startNode(['dev', '--home', restored, FAST])
      const latest = (await rpc(other.url, 'eth_getBlockByNumber', ['latest', false])).result
      expect(latest).toMatchObject({ hash: head.hash, stateRoot: head.commitment })
      await pay(other.url, head.height)
      expect((await rpc(other.url, 'eth_getBalance', [receiver(head.height), 'latest'])).result).toBe('0x1')
      expect(await other.stop()).toBe(0)
    }
  })
})
