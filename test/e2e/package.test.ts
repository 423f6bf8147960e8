// The package as a script imports it: a node in the process, opened, shared, refused, closed.
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import {
  ClosedError,
  createDevNode,
  HomeError,
  HomeInUseError,
  InternalError,
  NotFoundError,
  openNode,
  ReadOnlyError,
  SettingError,
  StoreError,
} from 'hearth'
import { afterAll, expect, it } from 'vitest'
import { hearth, ROOT, rpc, startNode, tempHome } from './harness.ts'

const homes: string[] = []
const freshHome = (): string => {
  const home = tempHome()
  homes.push(home)
  return home
}
/** What a call rejects with. */
const errorOf = async (work: () => Promise<unknown>): Promise<unknown> =>
  await work().then(
    () => undefined,
    (e: unknown) => e,
  )

afterAll(() => {
  for (const home of homes) fs.rmSync(home, { recursive: true, force: true })
})

it('a development chain in the process, gone when closed', async () => {
  let home = ''
  {
    await using node = await createDevNode()
    home = node.home
    expect(node.chainId).toBe(31337)
    expect(node.height).toBe(0n)
    expect(node.accounts).toHaveLength(10)
    const [from, to] = node.accounts.map(({ address }) => address)
    expect(await node.provider.request({ method: 'eth_getBalance', params: [to, 'latest'] })).toBe('0x21e19e0c9bab2400000')
    const hash = await node.provider.request({ method: 'eth_sendTransaction', params: [{ from, to, value: '0x1' }] })
    expect(hash).toMatch(/^0x[0-9a-f]{64}$/)
    expect(node.height).toBe(1n)
    expect(await node.state().account(to as `0x${string}`)).toMatchObject({ nonce: 0n, balance: 10_000n * 10n ** 18n + 1n })
    expect(fs.existsSync(home)).toBe(true)
  }
  expect(fs.existsSync(home)).toBe(false)
})

it('use after close is an error, and a second close does nothing', async () => {
  const node = await createDevNode()
  const state = node.state()
  const rows = node.blocks()[Symbol.asyncIterator]()
  await node.close()
  await node.close()
  expect(() => node.height).toThrow(ClosedError)
  await expect(node.provider.request({ method: 'eth_chainId' })).rejects.toThrow(ClosedError)
  await expect(state.account(`0x${'11'.repeat(20)}`)).rejects.toMatchObject({ name: 'ClosedError', code: 'closed' })
  await expect(rows.next()).rejects.toThrow(ClosedError)
  await expect(node.call({ to: `0x${'11'.repeat(20)}` })).rejects.toThrow(ClosedError)
  await expect(node.table('blocks')).rejects.toThrow(ClosedError)
})

it('a second opening shares the home, or fails by its settings', async () => {
  const home = freshHome()
  const first = await openNode({ home, mode: 'dev' })
  const second = await openNode({ home, mode: 'dev' })
  const [from, to] = ['0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266', `0x${'22'.repeat(20)}`]
  await first.provider.request({ method: 'eth_sendTransaction', params: [{ from, to, value: '0x1' }] })
  expect(second.height).toBe(1n)
  const refused = await openNode({ home, mode: 'dev', settings: { 'workers.read_threads': 3 } }).catch((e: unknown) => e)
  expect(refused).toBeInstanceOf(HomeInUseError)
  expect((refused as HomeInUseError).pid).toBe(process.pid)
  expect((refused as HomeInUseError).cause).toMatchObject({ kind: 'home_in_use' })
  await first.close()
  expect(() => first.height).toThrow(ClosedError)
  expect(second.height).toBe(1n)
  await second.close()
  await using again = await openNode({ home })
  expect(again.height).toBe(1n)
})

it('a home without a chain and bad settings are clear errors', async () => {
  const home = `${freshHome()}/none`
  await expect(openNode({ home })).rejects.toMatchObject({ name: 'HomeError', code: 'home_empty' })
  await expect(openNode({ home })).rejects.toThrow(HomeError)
  await expect(openNode({ home, settings: { 'state-commit.flatkv.fsync': 'always' } })).rejects.toThrow(SettingError)
})

it('a damaged segment is an error of the store only', async () => {
  const home = freshHome()
  // A sealed segment is read only when one of its records is read.
  const settings = { 'littable.segment_keys': 16 }
  {
    await using node = await openNode({ home, mode: 'dev', settings })
    const [from, to] = ['0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266', `0x${'44'.repeat(20)}`]
    for (let i = 0; i < 24; i++) await node.provider.request({ method: 'eth_sendTransaction', params: [{ from, to, value: '0x1' }] })
  }
  const table = `${home}/data/ledger/blocks`
  const [first] = fs
    .readdirSync(table)
    .filter((file) => file.endsWith('.seg'))
    .sort()
  const bytes = fs.readFileSync(`${table}/${first}`)
  fs.writeFileSync(`${table}/${first}`, bytes.fill(0x55, bytes.length / 2, bytes.length / 2 + 64))
  await using node = await openNode({ home, settings })
  const failed = await errorOf(() => node.blocks().toArray())
  expect(failed).toBeInstanceOf(StoreError)
  expect(failed).not.toBeInstanceOf(InternalError)
  expect(failed).toMatchObject({ name: 'StoreError', code: 'record_damaged', message: expect.stringContaining('damaged') })
})

it('with a running node: a writer is refused, a reader served', async () => {
  const home = freshHome()
  const interval = '--state-commit.flatkv.snapshot_interval_blocks=2'
  const running = await startNode(['dev', '--home', home, interval])
  try {
    // The node has no snapshot yet: it takes one on request.
    const first = await openNode({ home, readOnly: true })
    expect([first.snapshot, first.height]).toEqual([0n, 0n])
    await first.close()
    const [from, to] = ['0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266', `0x${'33'.repeat(20)}`] as const
    for (let i = 0; i < 5; i++) await rpc(running.url, 'eth_sendTransaction', [{ from, to, value: '0x1' }])
    await expect(openNode({ home })).rejects.toMatchObject({ name: 'HomeInUseError', pid: running.pid })
    await expect.poll(() => fs.readdirSync(`${home}/data/state/snapshots`).some((name) => name.includes('4'))).toBe(true)
    await using node = await openNode({ home, readOnly: true })
    expect(node.readOnly).toBe(true)
    expect(node.snapshot).toBe(4n)
    expect(node.height).toBe(4n)
    expect(await node.state().account(to)).toMatchObject({ balance: 4n })
    expect((await node.blocks({ full: true }).toArray()).map(({ number, transactions }) => [number, transactions.length])).toEqual([
      [0n, 0],
      [1n, 1],
      [2n, 1],
      [3n, 1],
      [4n, 1],
    ])
    const hash = (await node.blocks({ from: 3n, to: 3n }).toArray())[0]?.transactions[0] as `0x${string}`
    expect(await node.trace(hash, 'callTracer')).toMatchObject({ type: 'CALL', to, value: '0x1' })
    const raw = `0x${'00'.repeat(10)}`
    await expect(node.provider.request({ method: 'eth_sendRawTransaction', params: [raw] })).rejects.toMatchObject({ code: -32000 })
    await expect(node.block(5n)).rejects.toThrow(NotFoundError)
  } finally {
    await running.stop()
  }
  await using alone = await openNode({ home, readOnly: true })
  expect(alone.snapshot).toBeUndefined()
  expect(alone.height).toBe(5n)
  await expect(alone.core.request('sendRawTransaction', { transaction: '0x00' })).rejects.toMatchObject({ kind: 'read_only' })
  expect(ReadOnlyError.name).toBe('ReadOnlyError')
})

it('a node listens only on request, while it is open', async () => {
  const node = await createDevNode()
  const { url, stop } = await node.listen({ port: 0 })
  expect(await rpc(url, 'eth_chainId')).toMatchObject({ result: '0x7a69' })
  await stop()
  await expect(rpc(url, 'eth_chainId')).rejects.toThrow()
  const again = await node.listen({ port: 0 })
  expect(await rpc(again.url, 'eth_blockNumber')).toMatchObject({ result: '0x0' })
  await node.close()
  await expect(rpc(again.url, 'eth_chainId')).rejects.toThrow()
})

it('the process ends by itself once its nodes are closed', () => {
  const script = "import { createDevNode } from 'hearth'; const n = await createDevNode(); await n.close(); console.log('closed')"
  const ran = spawnSync(process.execPath, ['--input-type=module', '-e', script], { cwd: ROOT, encoding: 'utf8', timeout: 250_000 })
  expect([ran.stdout, ran.status]).toEqual(['closed\n', 0])
  expect(hearth(['--version']).status).toBe(0)
})
