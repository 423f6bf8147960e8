// What an operator relies on: probes, `hearth status`, and a restart that loses no request.
import fs from 'node:fs'
import http from 'node:http'
import os from 'node:os'
import path from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { nodeEnded } from '../../ts/cli/node-versions.ts'
import { endOf, hearth, logLines, type RunningNode, rpc, spawnHearth, startNode, tempHome } from './harness.ts'
import { sleep, until } from './waiting.ts'

const homes: string[] = []
const freshHome = (): string => {
  const home = tempHome()
  homes.push(home)
  return home
}
afterAll(() => {
  for (const home of homes) fs.rmSync(home, { recursive: true, force: true })
})

const probe = async (url: string): Promise<[number, unknown]> => {
  const response = await fetch(url)
  return [response.status, await response.json()]
}

it('a node without a reader of its output serves and closes', async () => {
  const home = freshHome()
  const child = spawnHearth(['dev', '--home', home, '--evm.http_port=0', '--evm.ws_enabled=false', '--metrics.enabled=false'])
  let printed = ''
  const url = await new Promise<string>((resolve) => {
    const take = (data: Buffer): void => {
      printed += data.toString()
      const [, found] = /ready.*(http:\/\/\S+?)[ ,\n]/.exec(printed) ?? []
      if (found !== undefined) resolve(found)
    }
    child.stdout?.on('data', take)
    child.stderr?.on('data', take)
  })
  const ended = endOf(child)
  child.stdout?.destroy()
  child.stderr?.destroy()
  // Each block is a line of output.
  for (let height = 1; height <= 5; height++) {
    await rpc(url, 'evm_mine', [])
    expect((await rpc(url, 'eth_blockNumber', [])).result).toBe(`0x${height.toString(16)}`)
    await sleep(20)
  }
  child.kill('SIGTERM')
  expect(await ended).toBe(0)
  expect(fs.existsSync(path.join(home, 'data', 'node.json'))).toBe(false)
})

describe('probes', () => {
  it('answer on the port of JSON-RPC and beside the metrics', async () => {
    const node = await startNode(['dev', '--home', freshHome()])
    try {
      for (const base of [node.url, node.metrics?.replace('/metrics', '')]) {
        expect(await probe(`${base}/health`)).toEqual([200, { status: 'ok' }])
        expect(await probe(`${base}/ready`)).toEqual([200, { status: 'ready', reasons: [] }])
      }
    } finally {
      expect(await node.stop()).toBe(0)
    }
  })

  it('say that the head is too old, where that is asked for', async () => {
    const node = await startNode(['dev', '--home', freshHome(), '--evm.ready_max_head_age=1m', '--dev.timestamp=1700000000'])
    try {
      const [status, report] = await probe(`${node.url}/ready`)
      const { reasons } = report as { reasons: string[] }
      // The head is the genesis block, whose time is long past.
      expect([status, reasons.length]).toEqual([503, 1])
      expect(reasons[0]).toMatch(/^head is \d+ s old, over 60 s \(evm\.ready_max_head_age\)$/)
    } finally {
      expect(await node.stop()).toBe(0)
    }
  })

  it('say that the disk has no room', async () => {
    const home = freshHome()
    const fresh = await startNode(['dev', '--home', home])
    expect(await fresh.stop()).toBe(0)
    const node = await startNode(['start', '--home', home, '--state-commit.flatkv.min_free_bytes=1000 TiB'])
    try {
      const [status, report] = await probe(`${node.url}/ready`)
      expect(status).toBe(503)
      expect((report as { reasons: string[] }).reasons).toEqual([
        expect.stringMatching(/^disk has \d+ bytes left, under 1099511627776000 /),
      ])
    } finally {
      expect(await node.stop()).toBe(0)
    }
  })
})

describe('GET /', () => {
  it('says what the port is, on start as on dev', async () => {
    const home = freshHome()
    for (const command of ['dev', 'start']) {
      const node = await startNode([command, '--home', home])
      try {
        const response = await fetch(node.url)
        expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/plain; charset=utf-8'])
        expect((await response.text()).split('\n')).toEqual([
          'Hearth, an EVM node: JSON-RPC by POST to this URL, or WebSocket at the same address.',
          'GET /health: 200 while the process runs. GET /ready: 200 while it takes requests, else 503 with the reasons.',
          `Metrics for Prometheus: /metrics on port ${new URL(node.metrics ?? '').port}.`,
          expect.stringContaining('rpc_modules'),
          '',
        ])
      } finally {
        expect(await node.stop()).toBe(0)
      }
    }
  })
})

describe('hearth status', () => {
  const statusOf = (home: string) => {
    const { status, stdout } = hearth(['status', '--home', home, '--json'])
    return [status, JSON.parse(stdout) as Record<string, unknown>] as const
  }

  it('finds the running node and says how it does', async () => {
    const home = freshHome()
    expect(statusOf(home)).toEqual([1, { home, pid: null }])
    const node = await startNode(['dev', '--home', home])
    const [code, report] = statusOf(home)
    expect(code).toBe(0)
    expect(report).toMatchObject({
      home,
      pid: node.pid,
      ready: true,
      reasons: [],
      height: 0,
      bakeLagBlocks: 0,
      bakeQueueDepth: 0,
      traceCacheHitRate: null,
      httpUrl: node.url,
      wsUrl: node.ws,
      metricsUrl: node.metrics,
    })
    expect(report.memoryBytes).toBeGreaterThan(10 << 20)
    const caches = ['blocks', 'capsules', 'key_indexes', 'new_capsules', 'receipts', 'senders', 'step_indexes', 'traces']
    expect(Object.keys(report.cacheBytes as object).sort()).toEqual(caches)
    await rpc(node.url, 'eth_getBlockByNumber', ['0x0', false])
    expect((statusOf(home)[1].cacheBytes as Record<string, number>).blocks).toBeGreaterThan(100)
    expect((report.stores as Record<string, number>).state).toBeGreaterThan(0)
    const text = hearth(['status', '--home', home])
    expect([text.status, text.stdout]).toEqual([0, expect.stringMatching(/^ready {2,}yes$/m)])
    expect(text.stdout).toMatch(/^height {2,}0$/m)
    expect(text.stdout).toMatch(/^caches {2,}blocks \d/m)
    expect(await node.stop()).toBe(0)
    expect(statusOf(home)).toEqual([1, { home, pid: null }])
  })

  it.each(['token', 'jwt'])('finds a way in where the listeners ask for a %s, and nobody else does', async (kind) => {
    const home = freshHome()
    const secret = path.join(home, 'secret')
    fs.writeFileSync(secret, kind === 'jwt' ? '11'.repeat(32) : TOKEN, { mode: 0o600 })
    const settings = [`--evm.auth_${kind}_file=${secret}`, '--metrics.enabled=false']
    const node = await startNode(['dev', '--home', home, ...settings])
    const file = path.join(home, 'data', 'node.token')
    const ask = (token: string): Promise<number> =>
      fetch(node.url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_blockNumber', params: [] }),
      }).then(({ status }) => status)
    expect(fs.statSync(file).mode & 0o777).toBe(0o600)
    const ofRun = fs.readFileSync(file, 'utf8').trim()
    expect(ofRun).toMatch(/^[0-9a-f]{64}$/)
    expect([await ask(ofRun), await ask('f'.repeat(64))]).toEqual([200, 401])
    expect(statusOf(home)).toMatchObject([0, { pid: node.pid, ready: true, height: 0, metricsUrl: null }])
    expect(JSON.stringify(statusOf(home))).not.toContain(ofRun)
    // Without the token, the rest of the status is known.
    fs.rmSync(file)
    expect(statusOf(home)).toMatchObject([0, { ready: true, height: null }])
    expect(await node.stop()).toBe(0)
    const next = await startNode(['dev', '--home', home, ...settings])
    expect(fs.readFileSync(file, 'utf8').trim()).not.toBe(ofRun)
    expect(await next.stop()).toBe(0)
    expect(fs.existsSync(file)).toBe(false)
  })

  it('is not deceived by the file of a node that was killed', async () => {
    const home = freshHome()
    const node = await startNode(['dev', '--home', home])
    await node.stop('SIGKILL')
    expect(fs.existsSync(path.join(home, 'data', 'node.json'))).toBe(true)
    const { status, stderr } = hearth(['status', '--home', home])
    expect([status, stderr]).toEqual([1, `no node runs on ${home}\n`])
    // Another process has the number now: this one.
    const file = path.join(home, 'data', 'node.json')
    fs.writeFileSync(file, fs.readFileSync(file, 'utf8').replace(`"pid": ${node.pid}`, `"pid": ${process.pid}`))
    expect(JSON.parse(fs.readFileSync(file, 'utf8')).pid).toBe(process.pid)
    expect(statusOf(home)).toEqual([1, { home, pid: null }])
  })

  it('knows a node that serves nothing from no node', async () => {
    const home = freshHome()
    const node = await startNode(['dev', '--home', home])
    const file = path.join(home, 'data', 'node.json')
    const said = fs.readFileSync(file)
    fs.rmSync(file)
    const reason = expect.stringContaining(`has ${home} and serves no requests: it is a node that is opening its stores`)
    expect(statusOf(home)).toEqual([1, { home, pid: node.pid, ready: null, reasons: [reason] }])
    fs.writeFileSync(file, said)
    expect(statusOf(home)).toMatchObject([0, { pid: node.pid, ready: true }])
    expect(await node.stop()).toBe(0)
  })

  it('fails where the node does not answer', async () => {
    const home = freshHome()
    const node = await startNode(['dev', '--home', home])
    process.kill(node.pid, 'SIGSTOP')
    try {
      const [code, report] = statusOf(home)
      expect([code, report]).toMatchObject([1, { pid: node.pid, ready: null, reasons: ['the node does not answer'], height: null }])
    } finally {
      process.kill(node.pid, 'SIGCONT')
    }
    expect(statusOf(home)).toMatchObject([0, { ready: true, height: 0 }])
    expect(await node.stop()).toBe(0)
  })

  it('names the user where the home may not be read', async () => {
    const home = freshHome()
    const node = await startNode(['dev', '--home', home])
    const isRoot = process.getuid?.() === 0
    fs.chmodSync(home, isRoot ? 0o700 : 0)
    const { status, stderr, stdout } = hearth(['status', '--home', home], {}, isRoot ? { uid: 65_534, gid: 65_534 } : {})
    fs.chmodSync(home, 0o700)
    expect([status, stderr, stdout]).toEqual([1, `error: permission denied: ${home} (run as ${os.userInfo().username})\n`, ''])
    expect(await node.stop()).toBe(0)
  })
})

describe('the log', () => {
  it('of a started node is JSON, the core’s too, until it closes', async () => {
    const home = freshHome()
    const made = await startNode(['dev', '--home', home, '--log.level=info', '--log.format=text'])
    await until('a line of the core', () => / stores open at block /.test(made.log()))
    expect(await made.stop()).toBe(0)
    expect(made.log()).toMatch(/^\S+Z INFO node serving version=\S+ /m)
    expect(made.log()).toMatch(/^\S+Z INFO stores open at block 0 \(0x[0-9a-f]{64}\), state from block 0 on$/m)
    const node = await startNode(['start', '--home', home, '--log.levels=stores=warn'])
    await sleep(1100)
    expect(await node.stop()).toBe(0)
    const said = logLines(node).map(({ level, component, msg }) => `${level} ${component} ${msg}`)
    const ended = nodeEnded() === undefined ? [] : ['warn node this version of Node gets no more security fixes']
    expect(said).toEqual([
      'info node serving',
      ...ended,
      'info node this node makes no blocks: new ones come from `hearth import`',
      'info node stopping',
      'info node every answer under way has ended; closing the stores',
      'info node closed',
    ])
    expect(logLines(node)[0]).toMatchObject({ home, httpUrl: node.url, wsUrl: node.ws, metricsUrl: node.metrics })
    expect(logLines(node)[ended.length + 2]).toMatchObject({ signal: 'SIGTERM' })
  })

  it('has its lines in the order of events, the core’s too', async () => {
    const home = freshHome()
    const made = await startNode(['dev', '--home', home])
    expect(await made.stop()).toBe(0)
    const node = await startNode(['start', '--home', home])
    await sleep(1100)
    expect(await node.stop()).toBe(0)
    const said = logLines(node)
    const at = (words: RegExp): number => said.findIndex(({ msg }) => words.test(String(msg)))
    expect(at(/^open at block 0/)).toBeGreaterThanOrEqual(0)
    expect(at(/^open at block 0/)).toBeLessThan(at(/^serving$/))
    const times = said.map(({ time }) => Date.parse(String(time)))
    expect(times).toEqual([...times].sort((a, b) => a - b))
  })

  it('has requests that take long, and no others', async () => {
    const home = freshHome()
    const settings = ['--log.format=json', '--evm.slow_request_threshold=2s', '--evm.simulation_gas_limit=1000000000000']
    const node = await startNode(['dev', '--home', home, ...settings])
    try {
      const to = '0x00000000000000000000000000000000000d00d5'
      const config = { tracer: 'callTracer', timeout: '3s', stateOverrides: { [to]: { code: '0x5b600150600056' } } }
      await rpc(node.url, 'eth_blockNumber')
      const slow = await rpc(node.url, 'debug_traceCall', [{ to, gas: '0xe8d4a51000' }, 'latest', config])
      expect(slow.error?.message).toBe('execution timeout')
      const ofRequests = () => logLines(node).filter(({ component }) => component === 'rpc')
      await until('a line', () => ofRequests().length > 0)
      const found = ofRequests()
      expect(found).toHaveLength(1)
      const said = {
        level: 'warn',
        msg: 'slow request',
        method: 'debug_traceCall',
        connection: 'http',
        client: '127.0.0.1',
        bytes: 0,
        success: false,
      }
      expect(found[0]).toMatchObject(said)
      expect(found[0]?.ms).toBeGreaterThanOrEqual(3000)
    } finally {
      expect(await node.stop()).toBe(0)
    }
  })
})

const RESET = 'lost: ECONNRESET'

/** A token of the tests. */
const TOKEN = 'a token of tests'.replaceAll(' ', '-')

/**
 * One request on a connection of its own: its answer, or `refused` if the connection was not
 * accepted.
 */
function one(url: string, more: Readonly<Record<string, string>> = {}): Promise<string> {
  return new Promise((resolve) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_blockNumber', params: [] })
    const headers = { 'content-type': 'application/json', ...more }
    const request = http.request(url, { method: 'POST', headers, agent: false }, (response) => {
      let text = ''
      response.on('data', (data) => {
        text += data
      })
      response.on('end', () => resolve(text))
      response.on('error', () => resolve('cut off'))
    })
    request.on('error', (e: NodeJS.ErrnoException) => resolve(e.code === 'ECONNREFUSED' ? 'refused' : `lost: ${e.code}`))
    request.end(body)
  })
}

describe('a rolling restart under load', () => {
  /**
   * How long the listener stays open while the probe answers 503: long enough for a request on a
   * busy machine.
   */
  const DELAY = '--evm.shutdown_delay=3s'

  async function stopUnderLoad(
    node: RunningNode,
    headers?: Readonly<Record<string, string>>,
  ): Promise<{ answers: Map<string, number>; ready: number[]; code: unknown }> {
    const answers = new Map<string, number>()
    const ready: number[] = []
    let over = false
    const load = async (): Promise<void> => {
      while (!over) {
        const answer = await one(node.url, headers)
        // The system resets connections that it had accepted and the node had not when the listener
        // closed; their requests were never read.
        const untaken = answer === RESET && (await one(node.url, headers)) === 'refused'
        const counted = untaken ? 'refused' : answer
        answers.set(counted, (answers.get(counted) ?? 0) + 1)
        if (counted === 'refused') return
      }
    }
    const watch = async (): Promise<void> => {
      while (!over) {
        const status = await fetch(`${node.url}/ready`).then(
          (response) => response.status,
          () => 0,
        )
        ready.push(status)
        if (status === 0) return
        await sleep(10)
      }
    }
    const running = [load(), load(), load(), load(), watch()]
    // What serves probes is loaded with the first of them.
    await until('load', () => ready.length > 0 && [...answers.values()].reduce((sum, count) => sum + count, 0) > 50, 10)
    const code = await node.stop()
    over = true
    await Promise.all(running)
    return { answers, ready, code }
  }

  it.each([false, true])('answers accepted requests, 503 before the close; tokens: %s', async (asks) => {
    const home = freshHome()
    const made = await startNode(['dev', '--home', home])
    expect(await made.stop()).toBe(0)
    const tokens = path.join(home, 'tokens')
    fs.writeFileSync(tokens, `${TOKEN}\n`, { mode: 0o600 })
    const node = await startNode(['start', '--home', home, DELAY, ...(asks ? [`--evm.auth_token_file=${tokens}`] : [])])
    const { answers, ready, code } = await stopUnderLoad(node, asks ? { authorization: `Bearer ${TOKEN}` } : undefined)
    const right = JSON.stringify({ jsonrpc: '2.0', id: 1, result: '0x0' })
    expect([...answers.keys()].filter((answer) => answer !== 'refused')).toEqual([right])
    expect(answers.get(right)).toBeGreaterThan(20)
    expect(code).toBe(0)
    expect(ready[0]).toBe(200)
    expect(ready.filter((status) => status !== 0).at(-1)).toBe(503)
    const again = await startNode(['start', '--home', home])
    expect(await rpc(again.url, 'eth_blockNumber')).toMatchObject({ result: '0x0' })
    expect(await again.stop()).toBe(0)
  })

  it('a second signal ends the node at once', async () => {
    const home = freshHome()
    // Longer than this test may take.
    const node = await startNode(['dev', '--home', home, '--evm.shutdown_delay=10m'])
    const ended = node.stop()
    await until('the first signal to arrive', async () => (await fetch(`${node.url}/ready`)).status === 503)
    expect(await Promise.all([node.stop(), ended])).toEqual([130, 130])
  })
})
