// A node whose main thread is stuck: the watchdog of the core ends it after a signal, and reports
// stalls.
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { EXIT } from '../../ts/cli/exit.ts'
import { endOf, hearth, type LogLine, logLines, ROOT, type RunningNode, rpc, spawnHearth, startNode, tempHome } from './harness.ts'
import { until } from './waiting.ts'

const folders: string[] = []
const freshHome = (): string => {
  const home = tempHome()
  folders.push(home)
  return home
}
afterAll(() => {
  for (const folder of folders) fs.rmSync(folder, { recursive: true, force: true })
})

/** Options of Node with which the main thread can be made busy. */
const options = `${process.env.NODE_OPTIONS ?? ''} --require ${path.join(import.meta.dirname, 'spin.cjs')}`

/** A development node on a home whose main thread can be made busy. */
async function start(home: string, shutdownTimeout = '1s'): Promise<RunningNode> {
  const args = ['dev', '--home', home, '--log.format=json', `--evm.shutdown_timeout=${shutdownTimeout}`]
  return await startNode(args, { NODE_OPTIONS: options, SPIN_UNTIL: path.join(home, 'go-on') })
}

/**
 * Makes the main thread busy with a request; resolves once it is. `answer` resolves to nothing if
 * no answer comes.
 */
async function occupy(node: RunningNode, method: string): Promise<{ readonly answer: Promise<unknown> }> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 'spin', method, params: [] })
  const headers = { 'content-type': 'application/json' }
  const answer = fetch(node.url, { method: 'POST', headers, body })
    .then((response) => response.json())
    .catch(() => undefined)
  await until('a busy main thread', () => node.log().includes('the main thread spins'))
  return { answer }
}

/** Lines of the log about the watchdog's matters. */
const lines = (node: RunningNode, words: RegExp): LogLine[] => logLines(node).filter(({ msg }) => words.test(String(msg)))

/** The value of a sample of the scrape page; undefined where it is not there. */
async function sample(node: RunningNode, name: string): Promise<number | undefined> {
  const page = await (await fetch(node.metrics as string)).text()
  const line = page.split('\n').find((found) => found.startsWith(`${name} `))
  return line === undefined ? undefined : Number(line.slice(name.length))
}

/** The name of the watchdog's thread, as the system knows threads: by 15 characters. */
const WATCHDOG = 'hearth-watchdog'

/** Prints the names of the threads of a script that has a node open, then gets a signal. */
const SCRIPT = `
  import fs from 'node:fs'
  import { openNode } from 'hearth'
  const node = await openNode({ mode: 'dev', home: process.argv[1] })
  const nameOf = (id) => {
    try {
      return [fs.readFileSync('/proc/self/task/' + id + '/comm', 'utf8').trim()]
    } catch (error) {
      // A thread may end between the listing and the reading of its name: ENOENT, or ESRCH once
      // the file is open.
      if (error.code === 'ENOENT' || error.code === 'ESRCH') return []
      throw error
    }
  }
  fs.writeSync(1, JSON.stringify(fs.readdirSync('/proc/self/task').flatMap(nameOf)))
  process.kill(process.pid, 'SIGTERM')
  for (;;);
`

describe('a node whose main thread is stuck', () => {
  it('ends after SIGTERM, flushed, with all acknowledged blocks', async () => {
    const home = freshHome()
    const node = await start(home)
    const [from] = (await rpc(node.url, 'eth_accounts')).result as string[]
    const hashes: unknown[] = []
    for (let n = 0; n < 5; n += 1) hashes.push((await rpc(node.url, 'eth_sendTransaction', [{ from, to: from, value: '0x1' }])).result)
    const head = (await rpc(node.url, 'eth_getBlockByNumber', ['latest', false])).result
    await occupy(node, 'eth_chainId')
    expect(await node.stop('SIGTERM')).toBe(EXIT.cutShort)
    // Two seconds: evm.shutdown_timeout and the grace of a stop, counted by the watchdog in steps
    // of at most 0.2 s.
    const [late, ...more] = lines(node, /^the stop is late/)
    expect([late, ...more]).toEqual([
      expect.objectContaining({ level: 'error', component: 'node', began: 'eth_chainId', why: 'the main thread is stuck' }),
    ])
    expect(late?.seconds).toBeGreaterThanOrEqual(2)
    expect(late?.seconds).toBeLessThanOrEqual(2.2)
    expect(lines(node, /^the stores are closed; the process ends$/)).toHaveLength(1)
    expect(hearth(['db', 'verify', '--home', home]).status).toBe(0)
    const again = await startNode(['start', '--home', home])
    try {
      expect((await rpc(again.url, 'eth_getBlockByNumber', ['latest', false])).result).toEqual(head)
      for (const hash of hashes)
        expect((await rpc(again.url, 'eth_getTransactionReceipt', [hash])).result).toMatchObject({ transactionHash: hash, status: '0x1' })
      expect(await sample(again, 'flatkv_catchup_replay_num_blocks_total')).toBe(0)
    } finally {
      expect(await again.stop()).toBe(0)
    }
  })

  it('ends after SIGINT during a trace and with unread output', async () => {
    const home = freshHome()
    const ports = ['--evm.http_port=0', '--evm.ws_enabled=false', '--metrics.enabled=false']
    const node = spawnHearth(['dev', '--home', home, '--evm.shutdown_timeout=0s', ...ports], { NODE_OPTIONS: options })
    const ended = endOf(node)
    let out = ''
    node.stdout?.on('data', (data: Buffer) => {
      out += data.toString()
    })
    const url = (): string | undefined => /(http:\/\/\S+)/.exec(out)?.[1]
    await until('a node', () => url() !== undefined && /ready/.test(out))
    const post = (body: object): Promise<Response> =>
      fetch(url() as string, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
    const to = `0x${'22'.repeat(20)}`
    const loop = { stateOverrides: { [to]: { code: '0x5b600056' } }, timeout: '300s' }
    // Endless struct logs: once the first bytes have arrived, its thread waits for the main thread
    // to send more.
    const trace = await post({ jsonrpc: '2.0', id: 1, method: 'debug_traceCall', params: [{ to, gas: '0x1000000' }, 'latest', loop] })
    expect(trace.status).toBe(200)
    const cutOff = trace.text().then(
      () => 'whole',
      () => 'cut off',
    )
    post({ jsonrpc: '2.0', id: 'flood', method: 'eth_chainId', params: [] }).catch(() => undefined)
    await until('a main thread that waits', () => out.includes('the main thread floods'))
    node.kill('SIGINT')
    expect(await ended).toBe(EXIT.cutShort)
    expect(await cutOff).toBe('cut off')
    expect(hearth(['db', 'verify', '--home', home]).status).toBe(0)
  })

  it('ends at once after a second signal', async () => {
    const node = await start(freshHome(), '1h')
    await occupy(node, 'eth_chainId')
    void node.stop('SIGINT')
    // Two signals of a kind that wait are one.
    expect(await node.stop('SIGTERM')).toBe(EXIT.stopped)
    expect(lines(node, /^ended by a second signal/)).toEqual([expect.objectContaining({ level: 'error', began: 'eth_chainId' })])
  })

  it('reports a stall and its end, and counts it by method', async () => {
    const home = freshHome()
    const node = await start(home)
    const { answer } = await occupy(node, 'eth_gasPrice')
    await until('a line about the stall', () => lines(node, /^the event loop stalls$/).length > 0)
    const [stalls] = lines(node, /^the event loop stalls$/)
    expect(stalls).toMatchObject({ level: 'warn', component: 'node', began: 'eth_gasPrice' })
    expect(stalls?.seconds).toBeGreaterThanOrEqual(1)
    fs.writeFileSync(path.join(home, 'go-on'), '')
    expect(await answer).toMatchObject({ id: 'spin', result: expect.stringMatching(/^0x/) })
    await until('a line about its end', () => lines(node, /^the event loop turns again$/).length > 0)
    const [over] = lines(node, /^the event loop turns again$/)
    expect(over).toMatchObject({ level: 'warn', component: 'node', began: 'eth_gasPrice' })
    expect(Number(over?.seconds)).toBeGreaterThanOrEqual(Number(stalls?.seconds))
    expect(await sample(node, 'node_event_loop_stall_seconds_count{began="eth_gasPrice"}')).toBe(1)
    expect(await sample(node, 'node_event_loop_stall_seconds_sum{began="eth_gasPrice"}')).toBeGreaterThanOrEqual(1)
    expect(await sample(node, 'node_event_loop_stall_seconds_count{began="none"}')).toBeDefined()
    expect(await node.stop()).toBe(EXIT.done)
  })
})

describe('signals', () => {
  it('are watched where a command serves a node', async () => {
    const node = await startNode(['dev'])
    const nameOf = (id: string): string => {
      try {
        return fs.readFileSync(`/proc/${node.pid}/task/${id}/comm`, 'utf8').trim()
      } catch {
        return ''
      }
    }
    const watchdogs = () => fs.readdirSync(`/proc/${node.pid}/task`).filter((id) => nameOf(id) === WATCHDOG)
    // A thread takes its name when it first runs, which may be after the node is ready.
    await until('the watchdog', () => watchdogs().length > 0)
    expect(watchdogs()).toHaveLength(1)
    expect(await node.stop()).toBe(EXIT.done)
  })

  it('belong to a script with a node open: nothing watches', () => {
    const ran = spawnSync(process.execPath, ['--input-type=module', '-e', SCRIPT, freshHome()], { cwd: ROOT, encoding: 'utf8' })
    expect(ran.stderr).toBe('')
    expect(ran.signal).toBe('SIGTERM')
    const names = JSON.parse(ran.stdout) as string[]
    expect(names.filter((name) => name.startsWith('hearth-')).length).toBeGreaterThan(0)
    expect(names).not.toContain(WATCHDOG)
  })
})
