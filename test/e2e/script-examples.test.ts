// The examples of docs/examples, run as a user would: compiled, then started with a home or a node.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { openNode } from 'hearth'
import { encodeFunctionData, getContractAddress, type Hex } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ABI, DEPLOY, REASON } from './contract.ts'
import { endOf, ROOT, type RunningNode, rpc, startNode, tempHome } from './harness.ts'
import { until } from './waiting.ts'

const EXAMPLES = path.join(ROOT, 'docs/examples')
const OUT = path.join(ROOT, 'dist/examples')
const OWNER = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'.toLowerCase() as Hex
const OTHER = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'.toLowerCase() as Hex
const CONTRACT = getContractAddress({ from: OWNER, nonce: 0n }).toLowerCase() as Hex
const set = (value: bigint): Hex => encodeFunctionData({ abi: ABI, functionName: 'set', args: [value] })

const home = tempHome()
const hashes: Hex[] = []

/** Runs an example to its end: the lines that it printed. */
function example(name: string, ...args: string[]): string[] {
  const ran = spawnSync(process.execPath, [path.join(OUT, `${name}.js`), ...args], { encoding: 'utf8' })
  if (ran.status !== 0) throw new Error(`${name} ended with ${ran.status}:\n${ran.stderr}`)
  return ran.stdout.trimEnd().split('\n')
}

beforeAll(async () => {
  const tsc = spawnSync(
    process.execPath,
    [path.join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', path.join(EXAMPLES, 'tsconfig.json')],
    {
      encoding: 'utf8',
    },
  )
  if (tsc.status !== 0) throw new Error(tsc.stdout)
  await using node = await openNode({ home, mode: 'dev' })
  const send = async (from: Hex, tx: object): Promise<void> => {
    hashes.push((await node.provider.request({ method: 'eth_sendTransaction', params: [{ from, gas: '0x30000', ...tx }] })) as Hex)
  }
  await send(OWNER, { data: DEPLOY })
  await send(OWNER, { to: CONTRACT, data: set(5n) })
  await send(OTHER, { to: CONTRACT, data: set(0n) })
  await send(OTHER, { to: CONTRACT, data: set(7n) })
})
afterAll(() => fs.rmSync(home, { recursive: true, force: true }))

describe('examples', () => {
  it('each has a test here', () => {
    const names = fs.readdirSync(EXAMPLES).filter((file) => file.endsWith('.ts'))
    const text = fs.readFileSync(import.meta.filename, 'utf8')
    expect(names.filter((file) => !text.includes(`'${path.parse(file).name}'`))).toEqual([])
  })

  it('docs/library.md shows one of them as it is', () => {
    const shown = fs.readFileSync(path.join(EXAMPLES, 'find-reverts.ts'), 'utf8')
    expect(fs.readFileSync(path.join(ROOT, 'docs/library.md'), 'utf8')).toContain(`\`\`\`ts\n${shown}\`\`\``)
  })

  it('who used the most gas', async () => {
    const [first, second] = example('top-gas', home)
    await using node = await openNode({ home, mode: 'dev' })
    const used = new Map<string, bigint>()
    for await (const { from, gasUsed } of node.receipts()) used.set(from, (used.get(from) ?? 0n) + gasUsed)
    expect([first, second]).toEqual([`${OWNER} ${used.get(OWNER)}`, `${OTHER} ${used.get(OTHER)}`])
    expect(used.size).toBe(2)
    await node.close()
    expect(example('top-gas', home, '3', 'latest')).toHaveLength(1)
  })

  it('reverts by reason', () => {
    expect(example('find-reverts', home, 'refused')).toEqual([`block 3 ${hashes[2]}: ${REASON}`])
    expect(example('find-reverts', home, 'another reason')).toEqual([''])
    expect(example('find-reverts', home, '', '4')).toEqual([''])
  })

  it('a histogram of opcodes by functions of the script', () => {
    const [summary, ...counts] = example('opcode-histogram', home, '2')
    expect(summary).toMatch(/^1 transactions, \d+ gas, 1 contracts wrote storage$/)
    expect(counts).toContain('SSTORE 1')
    expect(counts).toContain('LOG1 1')
    const sorted = counts.map((line) => Number(line.split(' ')[1]))
    expect(sorted).toEqual([...sorted].sort((a, b) => b - a))
  })

  it('the storage of two heights', () => {
    expect(example('storage-diff', home, CONTRACT, '2', 'latest')).toEqual(['0x0: 0x5 -> 0x7'])
    expect(example('storage-diff', home, CONTRACT, '1', '2')).toEqual(['0x0: 0x0 -> 0x5'])
    expect(example('storage-diff', home, CONTRACT, '2', '3')).toEqual([''])
  })

  it('logs as CSV', () => {
    const [head, ...rows] = example('logs-to-csv', home, CONTRACT)
    expect(head).toBe('block,time,transaction,index,address,topics,data')
    expect(rows.map((row) => row.split(',').filter((_, i) => i !== 1))).toEqual(
      [
        [2, hashes[1], 5],
        [4, hashes[3], 7],
      ].map(([block, hash, value]) => [
        `${block}`,
        hash,
        '0',
        CONTRACT,
        expect.stringMatching(/^0x[0-9a-f]{64}$/),
        `0x${Number(value).toString(16).padStart(64, '0')}`,
      ]),
    )
    expect(example('logs-to-csv', home, `0x${'99'.repeat(20)}`)).toEqual([head])
  })

  it('storage-diff without an address says what it takes', () => {
    const ran = spawnSync(process.execPath, [path.join(OUT, 'storage-diff.js'), home, '0x12'], { encoding: 'utf8' })
    const usage = 'usage: node storage-diff.js HOME ADDRESS BLOCK BLOCK [SLOTS]; ADDRESS is 0x and 40 hex digits\n'
    expect([ran.status, ran.stdout, ran.stderr]).toEqual([2, '', usage])
  })

  it('the live tail of a closed port says so in one line', async () => {
    const running = await startNode(['dev'])
    await running.stop()
    const ran = spawnSync(process.execPath, [path.join(OUT, 'live-tail.js'), running.ws], { encoding: 'utf8', timeout: 60_000 })
    expect([ran.status, ran.stdout, ran.stderr]).toEqual([1, '', `live-tail: no node answers at ${running.ws}\n`])
  })

  it('the live tail of a running node', async () => {
    const running: RunningNode = await startNode(['dev', '--home', home])
    let tail: ChildProcess | undefined
    try {
      tail = spawn(process.execPath, [path.join(OUT, `${'live-tail'}.js`), running.ws, '2'], { stdio: ['ignore', 'pipe', 'inherit'] })
      let said = ''
      tail.stdout?.on('data', (data) => {
        said += data
      })
      const ended = endOf(tail)
      await until('the tail', () => said.includes('following'))
      // The subscription begins a moment later: the node has counted it then.
      const subscribed = /^evmrpc_request_latency_seconds_count\{endpoint="eth_subscribe",connection="websocket",success="true".* 1$/m
      await until('its subscription', async () => subscribed.test(await (await fetch(running.metrics as string)).text()))
      const send = (value: bigint) =>
        rpc(running.url, 'eth_sendTransaction', [{ from: OWNER, to: CONTRACT, data: set(value), gas: '0x30000' }])
      const { result: first } = await send(8n)
      const { result: second } = await send(0n)
      expect(await ended).toBe(0)
      expect(said.trimEnd().split('\n').slice(1)).toEqual([
        'block 5: 1 transactions',
        `  ${first} CALL ${CONTRACT} 0 calls`,
        'block 6: 1 transactions',
        `  ${second} CALL ${CONTRACT} 0 calls execution reverted`,
      ])
    } finally {
      tail?.kill()
      await running.stop()
    }
  })
})
