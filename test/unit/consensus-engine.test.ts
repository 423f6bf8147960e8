import fs from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { parse } from 'smol-toml'
import { afterEach, describe, expect, it } from 'vitest'
import { consensusConfig, openEngine, openWithState } from '../../ts/cli/consensus/engine.ts'
import { blocksText, transactionsText } from '../../ts/cli/submission.ts'
import { resolveSettings, type Settings } from '../../ts/config/index.ts'
import { configToml } from '../../ts/consensus/config-toml.ts'
import { Engine, type EngineSettings } from '../../ts/consensus/engine.ts'
import { ENGINE_FILES, engineHome } from '../../ts/consensus/layout.ts'
import { readPid } from '../../ts/consensus/left-over.ts'
import { fatalReason, parseLine } from '../../ts/consensus/log-line.ts'
import { freePort, reachUrl } from '../../ts/consensus/ports.ts'
import { type CoreStatus, consensusReason, type Known } from '../../ts/consensus/ready.ts'
import type { EngineView } from '../../ts/consensus/rpc.ts'
import { type EngineOptions, Supervisor } from '../../ts/consensus/supervisor.ts'
import { type ComponentLog, openLog } from '../../ts/log/index.ts'
import { submissionOf } from '../../ts/node/node-config.ts'
import { until } from '../e2e/waiting.ts'
import { afterwards, cleanUp, engineLine, type FakeCometbft, type FakeRun, fake, isAlive, newFolder, newHome } from './fake-cometbft.ts'

/** A log that keeps its lines. */
class KeptLog implements ComponentLog {
  readonly lines: string[] = []
  private readonly write =
    (level: string): ComponentLog['info'] =>
    (message, fields = {}) =>
      void this.lines.push(`${level} ${message} ${JSON.stringify(fields)}`)
  readonly error = this.write('error')
  readonly warn = this.write('warn')
  readonly info = this.write('info')
  readonly debug = this.write('debug')
  has(part: string): boolean {
    return this.lines.some((line) => line.includes(part))
  }
}

afterEach(cleanUp)

interface Supervised {
  readonly supervisor: Supervisor
  readonly log: KeptLog
  readonly engine: FakeCometbft
}

function supervise(runs: readonly FakeRun[], options: Partial<EngineOptions> = {}): Supervised {
  const engine = fake(runs)
  const log = new KeptLog()
  const supervisor = new Supervisor({
    program: engine.program,
    arguments: ['start'],
    environment: process.env,
    log,
    restartMs: [1],
    ...options,
  })
  supervisor.start()
  afterwards(() => supervisor.stop())
  return { supervisor, log, engine }
}

describe('the supervisor', () => {
  it('tries again where no process can be made', async () => {
    const log = new KeptLog()
    // A zero byte is refused by `spawn` itself, before there is a process.
    const options = { program: 'cometbft', arguments: ['\0'], environment: process.env, log, restartMs: [1] }
    const supervisor = new Supervisor(options)
    supervisor.start()
    await until('the third attempt', () => supervisor.restarts >= 2)
    expect([supervisor.state, supervisor.reason]).toEqual(['restarting', expect.stringContaining('it cannot be started')])
    await supervisor.stop()
  })

  it('starts a program again that ends, and says why', async () => {
    const { supervisor, log, engine } = supervise([
      { lines: [engineLine('error', 'cannot dial', { err: 'no route' })], ends: 7 },
      { lines: ['panic: no memory', 'goroutine 1 [running]:'], ends: 2 },
      { ends: 'stay' },
    ])
    await until('the third run', () => engine.starts().length === 3)
    expect(supervisor.state).toBe('running')
    expect(supervisor.restarts).toBe(2)
    expect(supervisor.reason).toBeUndefined()
    const ends = log.lines.filter((line) => line.includes('has ended'))
    expect(ends[0]).toContain('"how":"it ended with status 7","inMs":1,"last":"cannot dial: no route"')
    expect(ends[1]).toContain('"how":"it ended with status 2","inMs":1,"last":"panic: no memory"')
    expect(log.has('warn cannot dial')).toBe(true)
  })

  it('restarts after a kill, and waits longer each time', async () => {
    const { supervisor, log, engine } = supervise([{ ends: 'stay' }, { ends: 1 }, { ends: 1 }, { ends: 'stay' }], { restartMs: [1, 2, 3] })
    await until('the first run', () => engine.starts().length === 1)
    process.kill(supervisor.pid as number, 'SIGKILL')
    await until('the fourth run', () => engine.starts().length === 4)
    const waits = log.lines.flatMap((line) => /"how":"([^"]*)","inMs":(\d+)/.exec(line)?.slice(1).join(' ') ?? [])
    expect(waits).toEqual(['SIGKILL ended it 1', 'it ended with status 1 2', 'it ended with status 1 3'])
  })

  it('goes on where its process cannot be written down', async () => {
    const full = (): void => {
      throw new Error('ENOSPC: no space left on device')
    }
    const { supervisor, log, engine } = supervise([{ ends: 1 }, { ends: 'stay' }], { started: full, ended: full })
    await until('the second run', () => engine.starts().length === 2 && supervisor.state === 'running')
    expect(log.lines.filter((line) => line.startsWith('warn') && line.includes('ENOSPC'))).toHaveLength(3)
  })

  it('begins with the first wait again after a steady run', async () => {
    const { log, engine } = supervise([{ ends: 1 }, { ends: 1 }, { ends: 1 }, { ends: 'stay' }], { restartMs: [1, 2, 3], steadyMs: 0 })
    await until('the fourth run', () => engine.starts().length === 4)
    expect(log.lines.flatMap((line) => /"inMs":(\d+)/.exec(line)?.[1] ?? [])).toEqual(['1', '1', '1'])
  })

  it('never starts it again after a failure of consensus', async () => {
    const { supervisor, log, engine } = supervise([
      { lines: [engineLine('error', 'CONSENSUS FAILURE!!!', { err: 'conflicting vote 7', stack: 'goroutine 9' })], ends: 'stay' },
      { ends: 'stay' },
    ])
    await until('the failure is known', () => supervisor.state === 'failed')
    expect(supervisor.reason).toMatch(/^CONSENSUS FAILURE!!!: conflicting vote 7 \(the key of this validator signs somewhere else too/)
    process.kill(supervisor.pid as number, 'SIGKILL')
    await until('its end is known', () => log.has('error CometBFT has ended'))
    expect(supervisor.state).toBe('failed')
    expect(supervisor.pid).toBeUndefined()
    expect(engine.starts()).toHaveLength(1)
  })

  it('restarts where consensus failed as the socket ended', async () => {
    const failure = engineLine('error', 'CONSENSUS FAILURE!!!', { err: 'failed to apply block; error read message: EOF' })
    const { supervisor, engine } = supervise([{ lines: [failure], ends: 1 }, { ends: 'stay' }])
    await until('the second run', () => engine.starts().length === 2)
    expect(supervisor.state).toBe('running')
  })

  it('restarts it where it stays idle after a failed state sync', async () => {
    const failure = engineLine('error', 'State sync failed', { err: 'no witnesses connected' })
    const { supervisor, log, engine } = supervise([{ lines: [failure], ends: 'stay' }, { ends: 'stay' }])
    await until('the second run', () => engine.starts().length === 2 && supervisor.state === 'running')
    expect(log.has('"how":"SIGKILL ended it","inMs":1,"last":"State sync failed: no witnesses connected"')).toBe(true)
  })

  it('ends it with SIGTERM, or SIGKILL where it does not listen', async () => {
    const first = supervise([{ ends: 'stay' }])
    await until('it runs', () => first.engine.starts().length === 1)
    const pid = first.supervisor.pid as number
    await first.supervisor.stop()
    expect(isAlive(pid)).toBe(false)
    expect(first.supervisor.state).toBe('stopped')
    expect(first.log.has('it is killed')).toBe(false)
    const second = supervise([{ ends: 'deaf' }], { stopMs: 50 })
    await until('it runs', () => second.engine.starts().length === 1)
    const deaf = second.supervisor.pid as number
    await second.supervisor.stop()
    expect(isAlive(deaf)).toBe(false)
    expect(second.log.has('it is killed')).toBe(true)
    expect(second.engine.starts()).toHaveLength(1)
  })

  it('tries again where the program cannot be started', async () => {
    const log = new KeptLog()
    const supervisor = new Supervisor({ program: '/nonexistent/cometbft', arguments: [], environment: {}, log, restartMs: [1] })
    supervisor.start()
    afterwards(() => supervisor.stop())
    await until('two attempts failed', () => log.lines.filter((line) => line.includes('it cannot be started')).length >= 2)
    expect(log.has('ENOENT')).toBe(true)
    await supervisor.stop()
    expect(supervisor.state).toBe('stopped')
  })
})

describe('lines of the log', () => {
  it('are read with level, message and values', () => {
    expect(parseLine(engineLine('error', 'x', { err: 'e', height: 7, stack: 's' }))).toEqual({
      level: 'error',
      message: 'x',
      fields: { module: 'consensus', err: 'e', height: '7' },
    })
    expect(parseLine('ERROR: no config')).toEqual({ level: 'text', message: 'ERROR: no config', fields: {} })
    expect(parseLine('{"a":1}').level).toBe('text')
    expect(parseLine('{cut off').level).toBe('text')
    expect(parseLine('x'.repeat(5000)).message).toHaveLength(1001)
  })

  it.each([
    ['panic: wrong Block.Header.AppHash.  Expected AA, got BB', 'executed a block otherwise'],
    ['panic: block.AppHash does not match AppHash after replay. Got A, expected B', 'another one than the store'],
    ['ERROR: app block height (12) is higher than core (9)', 'hearth db rollback --to'],
    ['panic: state (20) and store (0) height mismatch', 'join the network again'],
  ])('%s forbids another start', (line, advice) => {
    expect(fatalReason(parseLine(line))).toContain(advice)
  })

  it('allow a restart for information and an ended socket', () => {
    expect(fatalReason(parseLine(engineLine('info', 'conflicting vote')))).toBeUndefined()
    expect(fatalReason(parseLine(engineLine('error', 'Error dialing peer', { err: 'EOF' })))).toBeUndefined()
    for (const err of ['read message: EOF', 'write message: broken pipe', 'connection reset by peer', 'client is not running'])
      expect(fatalReason(parseLine(engineLine('error', 'CONSENSUS FAILURE!!!', { err }))), err).toBeUndefined()
    expect(fatalReason(parseLine(engineLine('error', 'CONSENSUS FAILURE!!!', { err: 'index out of range' })))).toContain(
      'index out of range',
    )
  })
})

const settingsOf = (flags: Record<string, string>): Settings => resolveSettings({ flags: new Map(Object.entries(flags)) }).settings

const core: CoreStatus = { connections: 4, height: '0x7', blockAgeMs: 100, failure: null }
const view: EngineView = { height: 7, catchingUp: false, votingPower: 10, peers: 3, deciding: 8, round: 0, highestPeer: 7 }

describe('reasons for not being ready', () => {
  const limits = { maxBlockAgeMs: 10_000, lagBlocks: 20 }
  const known: Known = { life: { state: 'running', reason: undefined }, core, view, openMs: 5000 }
  const reason = (part: Partial<Known>, some: Partial<typeof limits> = {}): string | undefined =>
    consensusReason({ ...known, ...part }, { ...limits, ...some })

  it('are none while blocks come', () => {
    expect(reason({})).toBeUndefined()
    expect(reason({ life: undefined })).toBeUndefined()
    expect(reason({ core: { ...core, blockAgeMs: null } })).toBeUndefined()
    expect(reason({ view: { ...view, catchingUp: true, highestPeer: 27 } })).toBeUndefined()
    expect(reason({ core: { ...core, blockAgeMs: 99_999 } }, { maxBlockAgeMs: 0 })).toBeUndefined()
  })

  it.each([
    ['a failure of the core', { core: { ...core, failure: 'disk' } }, 'consensus: this node does not continue: disk'],
    ['a failed engine', { life: { state: 'failed', reason: 'x' } }, 'consensus: CometBFT is not started again: x'],
    ['an engine between two runs', { life: { state: 'restarting', reason: 'it ended' } }, 'consensus: it ended'],
    ['no connection', { core: { ...core, connections: 0 } }, 'consensus: no CometBFT is connected to this node'],
    ['peers that are ahead', { view: { ...view, highestPeer: 28 } }, 'consensus: 21 blocks behind, over 20 (consensus.ready_lag_blocks)'],
    ['nothing known of peers', { view: { ...view, catchingUp: true, highestPeer: null } }, 'consensus: catching up, at height 7'],
    ['no new blocks', { core: { ...core, blockAgeMs: 12_400 } }, 'consensus: no block for 12 s, over 10 s (consensus.ready_max_block_age)'],
    [
      'no first block',
      { core: { ...core, blockAgeMs: null }, openMs: 11_000 },
      'consensus: no block for 11 s, over 10 s (consensus.ready_max_block_age)',
    ],
    [
      'an engine that does not answer',
      { view: { error: 'CometBFT does not answer: ECONNREFUSED' } },
      'consensus: CometBFT does not answer: ECONNREFUSED',
    ],
  ] satisfies [string, Partial<Known>, string][])('%s', (_, part, text) => {
    expect(reason(part)).toBe(text)
  })
})

describe('an engine', () => {
  const engineSettings = (program: string, some: Partial<EngineSettings> = {}): EngineSettings => ({
    supervise: true,
    binary: program,
    abciAddress: 'auto',
    rpcHost: '127.0.0.1',
    rpcPort: 0,
    p2pHost: '127.0.0.1',
    p2pPort: 0,
    timeoutCommitMs: 250,
    txIndex: 'null',
    pool: { transactions: 7000, bytes: 1_000_000 },
    ready: { maxBlockAgeMs: 0, lagBlocks: 20 },
    verbose: false,
    ...some,
  })
  const noCore = { status: async () => core, reap: async () => [] }
  const run = async (home: string, settings: EngineSettings): Promise<Engine> => {
    const engine = new Engine(home, settings)
    afterwards(() => engine.stop())
    await engine.start(noCore, new KeptLog())
    return engine
  }

  it('shows what CometBFT is started with', async () => {
    const [home, program] = [newHome(), fake([{ ends: 'stay' }])]
    const engine = await run(home, engineSettings(program.program))
    await until('it runs', () => program.starts().length === 1)
    const [{ args, env, pid } = { args: [], env: {}, pid: 0 }] = program.starts()
    const port = Number(engine.rpcUrl?.split(':').at(-1))
    expect(args.slice(0, -1)).toEqual([
      'start',
      '--home',
      engineHome(home),
      `--proxy_app=unix://${home}/data/abci.sock`,
      `--rpc.laddr=tcp://127.0.0.1:${port}`,
    ])
    expect(args.at(-1)).toMatch(/^--p2p\.laddr=tcp:\/\/127\.0\.0\.1:\d+$/)
    expect(env).toEqual({
      CMT_LOG_FORMAT: 'json',
      CMT_LOG_LEVEL: 'error',
      CMT_MEMPOOL_TYPE: 'flood',
      CMT_MEMPOOL_SIZE: '7000',
      CMT_MEMPOOL_MAX_TXS_BYTES: '1000000',
      CMT_CONSENSUS_TIMEOUT_COMMIT: '250ms',
      CMT_TX_INDEX_INDEXER: 'null',
    })
    // CometBFT takes a variable only where config.toml has its key.
    const toml = configToml({ moniker: 'm', peers: [], local: true, exchangesPeers: true })
    const keys = Object.entries(parse(toml)).flatMap(([name, value]) =>
      typeof value === 'object' ? Object.keys(value).map((key) => `${name}_${key}`) : [name],
    )
    expect(keys.map((key) => `CMT_${key.toUpperCase()}`)).toEqual(expect.arrayContaining(Object.keys(env)))
    expect(readPid(home)).toBe(pid)
    expect(engine.state).toBe('running')
    expect(await engine.reason()).toBe('consensus: CometBFT does not answer: ECONNREFUSED')
    await engine.stop()
    expect(isAlive(pid)).toBe(false)
    expect(fs.existsSync(path.join(engineHome(home), ENGINE_FILES.pid))).toBe(false)
  })

  it('is ended where the state that it brought does not open', async () => {
    const [home, program] = [newHome(), fake([{ ends: 'stay' }])]
    const engine = new Engine(home, engineSettings(program.program, { abciAddress: 'tcp://127.0.0.1:1' }))
    afterwards(() => engine.stop())
    const log = openLog({ level: 'silent', levels: [], format: 'text', write: () => undefined })
    const open = async (): Promise<never> => {
      await until('CometBFT runs', () => program.starts().length === 1)
      throw new Error('no space left on device')
    }
    await expect(openWithState(engine, open, new Promise(() => undefined), log)).rejects.toThrow('no space left')
    expect(engine.state).toBe('stopped')
    expect(program.starts().map(({ pid }) => isAlive(pid))).toEqual([false])
  })

  it('asks a CometBFT from 0.40 on for no gossip', async () => {
    const program = fake([{ ends: 'stay' }], '0.40.0')
    await run(newHome(), engineSettings(program.program))
    await until('it runs', () => program.starts().length === 1)
    expect(program.starts()[0]?.env.CMT_MEMPOOL_TYPE).toBe('app')
  })

  it('says which port is taken', async () => {
    const taken = net.createServer().listen(0, '127.0.0.1')
    afterwards(() => void taken.close())
    await until('it listens', () => taken.listening)
    const { port } = taken.address() as net.AddressInfo
    const { program } = fake([{ ends: 'stay' }])
    await expect(run(newHome(), engineSettings(program, { rpcPort: port }))).rejects.toThrow(
      `CometBFT cannot listen on 127.0.0.1:${port}: another process has it. Choose another port with --consensus.rpc_port=PORT.`,
    )
    await expect(freePort('127.0.0.1', 0, 'x')).resolves.toBeGreaterThan(0)
    expect(reachUrl('0.0.0.0', 7)).toBe('http://127.0.0.1:7')
  })

  it('an engine of the operator is neither looked for nor started', async () => {
    const engine = await run(newFolder(), engineSettings('/nonexistent', { supervise: false, rpcPort: 7 }))
    expect([engine.state, engine.rpcUrl, engine.restarts]).toEqual([undefined, 'http://127.0.0.1:7', 0])
  })

  it('needs a home that was made for it', () => {
    const { program } = fake([{ ends: 'stay' }])
    expect(() => new Engine(newFolder(), engineSettings(program))).toThrow('`hearth init --cometbft` makes a home with one')
  })
})

describe('settings', () => {
  it('reach the configuration of the core', () => {
    const settings = settingsOf({
      'consensus.supervise': 'false',
      'consensus.proposal_budget': '7ms',
      'consensus.retain_blocks': '8',
      'consensus.snapshot_interval_blocks': '9',
    })
    expect(consensusConfig(openEngine('/x', settings), settings)).toEqual({
      address: 'unix:///x/data/abci.sock',
      stateSync: false,
      proposalBudgetMs: 7,
      retainBlocks: 8,
      snapshotIntervalBlocks: 9,
    })
  })

  it('put transactions into the pool', () => {
    const settings = settingsOf({ 'consensus.enabled': 'true' })
    expect(submissionOf(false, settings)).toBe('pool')
    expect(transactionsText('start', settings)).toBe('put into the pool, and passed on to the validators')
    expect(blocksText(settings)).toBe('blocks come from the validators of this network, by CometBFT')
  })
})
