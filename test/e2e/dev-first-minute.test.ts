// The first minute with a development chain: its output, its flags, what it leaves behind, and the
// demo.
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { type Hex, parseEther } from 'viem'
import { mnemonicToAccount } from 'viem/accounts'
import { afterEach, describe, expect, it } from 'vitest'
import { freePort } from '../free-port.mjs'
import { endOf, hearth, ROOT, type RunningNode, rpc, startNode, tempHome } from './harness.ts'
import { until } from './waiting.ts'

const running: RunningNode[] = []
afterEach(async () => {
  for (const node of running.splice(0)) await node.stop()
})

async function dev(...args: string[]): Promise<RunningNode> {
  const node = await startNode(['dev', ...args])
  running.push(node)
  return node
}

const result = async (url: string, method: string, params: readonly unknown[] = []): Promise<unknown> => {
  const answer = await rpc(url, method, [...params])
  if (answer.error !== undefined) throw new Error(`${method}: ${answer.error.code} ${answer.error.message}`)
  return answer.result
}

const leftOvers = (): string[] => fs.readdirSync(os.tmpdir()).filter((name) => name.startsWith('hearth-dev-'))
const ofProcess = (pid: number): string[] => leftOvers().filter((name) => name.startsWith(`hearth-dev-${pid}-`))

/** Occupies a port until the returned function is called; undefined if it is occupied already. */
const take = (port: number): Promise<(() => void) | undefined> =>
  new Promise((resolve) => {
    const server = net.createServer()
    server.once('error', () => resolve(undefined))
    server.listen(port, '127.0.0.1', () => resolve(() => server.close()))
  })

describe('what it prints', () => {
  it('is accounts, the endpoint, and three working requests', async () => {
    const node = await dev()
    const account = mnemonicToAccount('test test test test test test test test test test test junk')
    expect(node.log()).toContain(`(0) ${account.address}  0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80`)
    expect(node.log().match(/^ {2}\(\d+\) 0x[0-9a-fA-F]{40} {2}0x[0-9a-f]{64}$/gm)).toHaveLength(10)
    const tries = [...node.log().matchAll(/^ {2}(curl .*)$/gm)].map(([, line]) => line as string)
    expect(tries).toHaveLength(3)
    for (const line of tries) {
      const [, url, body] = /^curl -s (\S+) -H 'content-type: application\/json' -d '(.*)'$/.exec(line) ?? []
      const answer = await fetch(url as string, { method: 'POST', headers: { 'content-type': 'application/json' }, body: body as string })
      expect((await answer.json()) as object, line).toHaveProperty('result')
    }
    expect(Number(await result(node.url, 'eth_blockNumber'))).toBe(1)
  })

  it('prints each request with --verbose, and none without', async () => {
    const text = await dev('-vvv')
    await result(text.url, 'eth_chainId')
    await rpc(text.url, 'eth_call', [])
    await rpc(text.url, 'no_method')
    await until('the requests', () => text.log().includes('no_method'))
    const lines = text.log().split('\n')
    expect(lines.filter((line) => /^(eth_chainId {2}\d+\.\d ms|(eth_call|no_method) {2}\d+\.\d ms {2}failed)$/.test(line))).toHaveLength(3)
    await text.stop()

    const plain = await dev()
    await result(plain.url, 'eth_chainId')
    await plain.stop()
    expect(plain.log()).not.toContain('eth_chainId')
  })

  it('prints nothing with --silent, and lines of JSON with --json', async () => {
    const home = tempHome()
    const silent = spawn(process.execPath, [
      path.join(ROOT, 'dist/cli/hearth.cjs'),
      'dev',
      '--silent',
      '--home',
      home,
      '--port',
      '0',
      '--evm.ws_port=0',
      '--metrics.port=0',
    ])
    let printed = ''
    silent.stdout.on('data', (data: Buffer) => {
      printed += data.toString()
    })
    const ended = endOf(silent)
    // It says nowhere else on which port it is.
    const file = path.join(home, 'data/node.json')
    let url = ''
    await until('the node', async () => {
      if (!fs.existsSync(file)) return false
      url = (JSON.parse(fs.readFileSync(file, 'utf8')) as { httpUrl: string }).httpUrl
      return (await rpc(url, 'eth_blockNumber').catch(() => undefined))?.result !== undefined
    })
    const [from] = (await result(url, 'eth_accounts')) as Hex[]
    await result(url, 'eth_sendTransaction', [{ from, to: from }])
    silent.kill('SIGTERM')
    expect(await ended).toBe(0)
    expect(printed).toBe('')
    fs.rmSync(home, { recursive: true, force: true })

    const json = spawn(process.execPath, [
      path.join(ROOT, 'dist/cli/hearth.cjs'),
      'dev',
      '--json',
      '--verbose',
      '--port',
      '0',
      '--evm.ws_port=0',
      '--metrics.port=0',
    ])
    let lines = ''
    const ready = new Promise<void>((resolve) => {
      json.stdout.on('data', (data: Buffer) => {
        lines += data.toString()
        if (lines.includes('\n')) resolve()
      })
    })
    const over = endOf(json)
    await ready
    const event = JSON.parse(lines.split('\n')[0] as string) as {
      event: string
      chainId: number
      httpUrl: string
      accounts: { address: Hex }[]
    }
    expect([event.event, event.chainId, event.accounts.length]).toEqual(['ready', 31_337, 10])
    const hash = await result(event.httpUrl, 'eth_sendTransaction', [
      { from: event.accounts[0]?.address, to: event.accounts[1]?.address, value: '0x1' },
    ])
    await until('the transaction', () => lines.includes(String(hash)))
    json.kill('SIGTERM')
    expect(await over).toBe(0)
    const events = lines
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { event: string })
    expect(events.filter(({ event }) => event === 'request')).toEqual([
      { event: 'request', method: 'eth_sendTransaction', ms: expect.any(Number), success: true },
    ])
    expect(events.find(({ event }) => event === 'transaction')).toMatchObject({
      block: 1,
      hash,
      gasUsed: 21_000,
      success: true,
      console: [],
    })
  })

  it('answers the version of --client-version', async () => {
    const node = await dev('--client-version', 'anvil/v9.9.9')
    expect(await result(node.url, 'web3_clientVersion')).toBe('anvil/v9.9.9')
    const usual = await dev()
    expect(await result(usual.url, 'web3_clientVersion')).toMatch(/^anvil\/v\d+\.\d+\.\d+-hearth\//)
  })
})

describe('flags', () => {
  it('say what the chain begins with', async () => {
    const phrase = 'legal winner thank year wave sausage worth useful legal winner thank yellow'
    const node = await dev(
      '--accounts', '3', '--mnemonic', phrase, '--balance', '12.5', '--chain-id', '1234', '--gas-limit', '12345678',
      '--base-fee', '7', '--timestamp', '1000000000', '--hardfork', 'cancun',
    ) // biome-ignore format: pairs
    const accounts = (await result(node.url, 'eth_accounts')) as Hex[]
    expect(accounts).toEqual([0, 1, 2].map((addressIndex) => mnemonicToAccount(phrase, { addressIndex }).address.toLowerCase()))
    expect(BigInt((await result(node.url, 'eth_getBalance', [accounts[2], 'latest'])) as Hex)).toBe(parseEther('12.5'))
    expect(await result(node.url, 'eth_chainId')).toBe('0x4d2')
    const block = (await result(node.url, 'eth_getBlockByNumber', ['0x0', false])) as Record<string, Hex>
    expect([Number(block.gasLimit), Number(block.baseFeePerGas), Number(block.timestamp)]).toEqual([12_345_678, 7, 1_000_000_000])
    expect(block.requestsHash).toBeUndefined()
    expect(block.parentBeaconBlockRoot).toBeDefined()
    expect(node.log()).toContain(`Mnemonic: ${phrase}`)
    expect(node.log()).toContain('chain id 1234')
  })

  it('say when blocks come', async () => {
    const manual = await dev('--no-mining')
    const [from, to] = (await result(manual.url, 'eth_accounts')) as Hex[]
    const hash = await result(manual.url, 'eth_sendTransaction', [{ from, to, value: '0x1' }])
    expect(await result(manual.url, 'eth_getTransactionReceipt', [hash])).toBeNull()
    await result(manual.url, 'evm_mine')
    expect(await result(manual.url, 'eth_getTransactionReceipt', [hash])).toMatchObject({ status: '0x1', blockNumber: '0x1' })
    const clocked = await dev('--block-time', '0.2')
    await until('three blocks', async () => Number(await result(clocked.url, 'eth_blockNumber')) >= 3)
    expect(clocked.log()).toContain('a block every 0.2 s')
  })

  it('take transactions from anyone with --auto-impersonate', async () => {
    const node = await dev('--auto-impersonate')
    const stranger = '0x00000000000000000000000000000000000000ab'
    await result(node.url, 'anvil_setBalance', [stranger, '0xde0b6b3a7640000'])
    const hash = await result(node.url, 'eth_sendTransaction', [{ from: stranger, to: stranger, value: '0x1' }])
    expect(await result(node.url, 'eth_getTransactionReceipt', [hash])).toMatchObject({ status: '0x1', from: stranger })
  })

  it('carry a state over', async () => {
    const dir = tempHome()
    const file = path.join(dir, 'state.json')
    const one = await startNode(['dev', '--state', file])
    await result(one.url, 'anvil_setBalance', ['0x00000000000000000000000000000000000000ac', '0x7b'])
    await result(one.url, 'evm_mine')
    expect(await one.stop()).toBe(0)
    expect(JSON.parse(fs.readFileSync(file, 'utf8'))).toHaveProperty('accounts')
    const two = await dev('--state', file)
    expect(await result(two.url, 'eth_getBalance', ['0x00000000000000000000000000000000000000ac', 'latest'])).toBe('0x7b')
    const three = await dev('--load-state', file)
    expect(await result(three.url, 'eth_getBalance', ['0x00000000000000000000000000000000000000ac', 'latest'])).toBe('0x7b')
    fs.writeFileSync(file, '{"accounts": 7}')
    const bad = hearth(['dev', '--load-state', file, '--port', '0', '--evm.ws_port=0', '--metrics.port=0'])
    expect([bad.status, bad.stderr]).toEqual([1, expect.stringContaining(`error: ${file}: `)])
    fs.rmSync(dir, { recursive: true, force: true })
  })

  it.each([
    ['--hardfork', 'nosuch', /dev\.hardfork.*takes auto or one of homestead/],
    ['--accounts', '0', /dev\.accounts.*takes an integer from 1 to 10000/],
    ['--balance', 'much', /dev\.balance.*takes a number of ether/],
    ['--block-time', '0', /dev\.block_time.*takes none or seconds/],
    ['--mnemonic', 'one two', /dev\.mnemonic.*BIP-39/],
    ['--fork-url', 'ftp://x', /dev\.fork_url.*URL of JSON-RPC/],
  ])('refuse %s %s with what they take', (flag, value, words) => {
    const run = hearth(['dev', flag, value])
    expect([run.status, run.stderr]).toEqual([2, expect.stringMatching(words)])
  })

  it('refuse a repeated setting, and a demo without blocks', () => {
    expect(hearth(['dev', '--port', '1', '--evm.http_port=2']).stderr).toMatch(/--port and --evm\.http_port are the same setting/)
    expect(hearth(['dev', '--demo', '--no-mining']).stderr).toMatch(/--demo needs a block for each transaction/)
  })
})

describe('what it leaves behind', () => {
  it('is nothing without --home, also after a kill', async () => {
    const one = await startNode(['dev'])
    expect(ofProcess(one.pid)).toHaveLength(1)
    expect(await one.stop()).toBe(0)
    expect(ofProcess(one.pid)).toEqual([])
    const two = await startNode(['dev'])
    expect(await two.stop('SIGKILL')).toBe('SIGKILL')
    expect(ofProcess(two.pid)).toHaveLength(1)
    const three = await dev()
    expect(ofProcess(two.pid)).toEqual([])
    // Those of others that run stay.
    const four = await dev()
    expect([ofProcess(three.pid).length, ofProcess(four.pid).length]).toEqual([1, 1])
  })

  it('is the chain with --home', async () => {
    const home = tempHome()
    const one = await startNode(['dev', '--home', home])
    await result(one.url, 'evm_mine')
    expect(await one.stop()).toBe(0)
    const two = await startNode(['dev', '--home', home])
    expect(await result(two.url, 'eth_blockNumber')).toBe('0x1')
    expect(await two.stop()).toBe(0)
    fs.rmSync(home, { recursive: true, force: true })
  })
})

describe('ports', () => {
  /**
   * Starts a development chain on a port while 8546 and 9101 are occupied, and waits until it is
   * ready or has ended.
   */
  async function started(port: number) {
    const child = spawn(process.execPath, [path.join(ROOT, 'dist/cli/hearth.cjs'), 'dev', '--port', String(port)])
    let printed = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (data: Buffer) => {
        printed += data.toString()
      })
    }
    const ended = new Promise((resolve) => child.once('close', resolve))
    let hasEnded = false
    void ended.then(() => {
      hasEnded = true
    })
    await until('the node', () => printed.includes('is ready') || hasEnded)
    return { child, ended, port, printed }
  }

  it('that are taken: optional ones are left out, HTTP’s fails', async () => {
    const taken = await Promise.all([take(8546), take(9101)])
    let node = await started(await freePort())
    // Another process may have taken the port since it was looked for.
    for (let again = 0; again < 5 && /another process has it/.test(node.printed); again++) node = await started(await freePort())
    const { child, ended, port, printed } = node
    expect(printed).toContain(`Port 8546 is taken: WebSocket is on port ${port} alone.\n`)
    expect(printed).toContain('Port 9101 is taken: there is no metrics page.\n')
    expect(await result(`http://127.0.0.1:${port}`, 'eth_chainId')).toBe('0x7a69')
    const second = hearth(['dev', '--port', String(port)])
    expect([second.status, second.stderr]).toEqual([
      1,
      expect.stringContaining(`cannot listen on 127.0.0.1:${port}: another process has it`),
    ])
    child.kill('SIGTERM')
    expect(await ended).toBe(0)
    for (const free of taken) free?.()
  })
})

describe('pages', () => {
  const allowed = async (url: string): Promise<string | null> => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_chainId', params: [] })
    const headers = { 'content-type': 'application/json', origin: 'https://example.org' }
    return (await fetch(url, { method: 'POST', headers, body })).headers.get('access-control-allow-origin')
  }
  it('of any origin may read dev, and of none start by default', async () => {
    const home = tempHome()
    const one = await startNode(['dev', '--home', home])
    expect(await allowed(one.url)).toBe('*')
    expect(await one.stop()).toBe(0)
    const two = await startNode(['start', '--home', home])
    expect(await allowed(two.url)).toBeNull()
    expect(await two.stop()).toBe(0)
    const three = await startNode(['start', '--home', home, '--evm.cors_origins=https://example.org'])
    expect(await allowed(three.url)).toBe('https://example.org')
    expect(await three.stop()).toBe(0)
    fs.rmSync(home, { recursive: true, force: true })
  })
})

describe('the demo', () => {
  it('is a tour: calls, reverts, CREATE2, out of gas', async () => {
    const node = await dev('--demo')
    await until('the last transaction', () => /runs out of gas/.test(node.log()))
    const steps = [...node.log().matchAll(/^ {2}(0x[0-9a-f]{64}) {2}(.*)$/gm)].map(([, hash, what]) => ({
      hash: hash as Hex,
      what: what as string,
    }))
    expect(steps).toHaveLength(13)
    const find = (words: string): Hex => (steps.find(({ what }) => what.includes(words)) as (typeof steps)[0]).hash
    const trace = async (hash: Hex): Promise<Record<string, unknown> & { calls?: Record<string, unknown>[] }> =>
      (await result(node.url, 'debug_traceTransaction', [hash, { tracer: 'callTracer', tracerConfig: { withLog: true } }])) as Record<
        string,
        unknown
      >
    for (const { hash, what } of steps) {
      const receipt = (await result(node.url, 'eth_getTransactionReceipt', [hash])) as { status: Hex }
      expect([what, receipt.status]).toEqual([what, what.endsWith('(fails)') ? '0x0' : '0x1'])
    }
    expect(steps.filter(({ what }) => what.endsWith('(fails)'))).toHaveLength(3)
    expect(await trace(find('reverts with a reason'))).toMatchObject({ error: 'execution reverted', revertReason: 'not enough tokens' })
    const nested = await trace(find('not approved'))
    expect(nested).toMatchObject({
      error: 'execution reverted',
      calls: [{ error: 'execution reverted', revertReason: 'not allowed to take so many' }],
    })
    const swap = await trace(find('nested calls, events'))
    expect(swap.calls?.map(({ type }) => type)).toEqual(['CALL', 'STATICCALL', 'STATICCALL', 'CALL'])
    expect(swap.calls?.[0]).toMatchObject({
      logs: [{ topics: expect.arrayContaining(['0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef']) }],
    })
    expect(await trace(find('CREATE2'))).toMatchObject({ to: '0x4e59b44847b379578588920ca78fbf26c0b4956c', calls: [{ type: 'CREATE2' }] })
    expect(await trace(find('runs out of gas'))).toMatchObject({ error: 'out of gas', gasUsed: '0x186a0' })
    const [, other] = (await result(node.url, 'eth_accounts')) as Hex[]
    const receipt = (await result(node.url, 'eth_getTransactionReceipt', [find('a token is deployed')])) as { contractAddress: Hex }
    const balance = await result(node.url, 'eth_call', [
      { to: receipt.contractAddress, data: `0x70a08231${(other as string).slice(2).padStart(64, '0')}` },
      'latest',
    ])
    expect(BigInt(balance as Hex)).toBe(4_000n)
  })
})
