// Follows a guide: runs its commands and requests in order, on nodes that the guide starts, and
// compares what they print.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { freePort } from '../../free-port.mjs'
import { PATIENCE_MS, sleep, until } from '../waiting.ts'
import { type Block, blocksOf, jsonDifference, textDifference } from './page.ts'

/** Commands that run until they are stopped. */
const SERVES = /^(?:npm start|npx hearth (?:start|dev|follow))(?: |$)/

/** One that runs beside the node that it follows. */
const FOLLOWS = /^npx hearth follow /

/** The step with which a reader stops the node. */
const STOP = '# press Ctrl-C in the terminal of the node'

/** Languages of blocks that show a file or an output of another program, and are not run. */
const SHOWN: ReadonlySet<string> = new Set(['toml', 'yaml', 'ini', 'nginx', 'haproxy', 'ts'])

/** How long a node may take to be ready where `npm start` builds it first, in milliseconds. */
const BUILD_MS_MAX = 25 * 60_000

/** The port of the node that guides name, which is another one here. */
const PORT = '8545'

/** The same of a second node. */
const SECOND_PORT = '9545'

/** How a guide is followed. */
export interface Place {
  /** Where commands run. */
  readonly checkout: string
  /** What ~ is. */
  readonly home: string
  /**
   * Whether `npm` and `npx` run as they are written; else the built program stands for them, which
   * is quicker.
   */
  readonly literally: boolean
}

/** What tools that build keep below the user's own folder, which a guide does not have as ~. */
const toolsOf = (home: string): NodeJS.ProcessEnv => ({
  CARGO_HOME: process.env.CARGO_HOME ?? path.join(home, '.cargo'),
  RUSTUP_HOME: process.env.RUSTUP_HOME ?? path.join(home, '.rustup'),
  HEARTH_CACHE: process.env.HEARTH_CACHE ?? path.join(process.env.XDG_CACHE_HOME ?? path.join(home, '.cache'), 'hearth'),
  npm_config_userconfig: process.env.npm_config_userconfig ?? path.join(home, '.npmrc'),
  npm_config_cache: process.env.npm_config_cache ?? path.join(home, '.npm'),
})

/** A node that a guide started. */
class Server {
  readonly child: ChildProcess
  private text = ''
  /** Characters of the output that a block has shown already. */
  private shown = 0

  constructor(command: string, cwd: string, env: NodeJS.ProcessEnv) {
    this.child = spawn('bash', ['-c', `exec ${command}`], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
    for (const stream of [this.child.stdout, this.child.stderr]) stream?.on('data', (data: Buffer) => (this.text += data.toString()))
  }

  get output(): string {
    return this.text
  }

  /** What was printed since the last call. */
  news(): string {
    const news = this.text.slice(this.shown)
    this.shown = this.text.length
    return news
  }

  /** What was printed and not taken. */
  peek(): string {
    return this.text.slice(this.shown)
  }

  async stop(): Promise<void> {
    if (this.child.exitCode !== null || this.child.pid === undefined) return
    const ended = new Promise((resolve) => this.child.once('exit', resolve))
    // The whole group: npm starts the node as a child of a shell.
    process.kill(-this.child.pid, 'SIGINT')
    await ended
  }
}

/**
 * Follows the guide in `file`, a path in the checkout; gives what did not go as the guide says,
 * with lines.
 */
export async function follow(file: string, place: Place): Promise<string[]> {
  const page = fs.readFileSync(path.join(place.checkout, file), 'utf8')
  const [port, secondPort] = [String(await freePort()), String(await freePort())]
  const bin = path.join(place.home, 'bin')
  fs.mkdirSync(bin, { recursive: true })
  const program = path.join(place.checkout, 'dist/cli/hearth.cjs')
  fs.writeFileSync(path.join(bin, 'hearth'), `#!/bin/sh\nexec '${process.execPath}' '${program}' "$@"\n`, { mode: 0o755 })
  const env = {
    ...process.env,
    HOME: place.home,
    PATH: `${bin}:${process.env.PATH}`,
    ...toolsOf(process.env.HOME ?? ''),
    HEARTH_EVM_HTTP_PORT: port,
    HEARTH_EVM_WS_PORT: '0',
    HEARTH_METRICS_PORT: '0',
  }
  const real = (text: string): string => {
    const here = text.replaceAll(new RegExp(`\\b${PORT}\\b`, 'g'), port).replaceAll(new RegExp(`\\b${SECOND_PORT}\\b`, 'g'), secondPort)
    return place.literally ? here : here.replaceAll(/\bnpm start --/g, 'hearth dev').replaceAll(/\bnpx hearth\b/g, 'hearth')
  }
  const asWritten = (text: string): string =>
    text
      .replaceAll(`:${port}`, `:${PORT}`)
      .replaceAll(`:${secondPort}`, `:${SECOND_PORT}`)
      .replaceAll(/ws:\/\/127\.0\.0\.1:(?!8545)\d+/g, 'ws://127.0.0.1:8546')
      .replaceAll(place.home, '~')

  const wrong: string[] = []
  let server: Server | undefined
  let follower: Server | undefined
  let printed = ''
  const fail = (block: Block, why: string): void => void wrong.push(`${file}:${block.line}: ${why}`)

  /** Starts a node in place of the one of its kind. */
  const begin = async (command: string): Promise<Server> => {
    const isFollower = FOLLOWS.test(command)
    await (isFollower ? follower : server)?.stop()
    const started = new Server(real(command), place.checkout, env)
    if (isFollower) follower = started
    else server = started
    return started
  }

  const runOne = async (block: Block): Promise<void> => {
    if (block.text === STOP) {
      await server?.stop()
      server = undefined
      return
    }
    if (SERVES.test(block.text)) {
      const started = await begin(block.text)
      const isReady = (): boolean =>
        /ready on|hearth is ready/.test(started.output) && (!block.text.includes('--demo') || started.output.includes('runs out of gas'))
      for (const end = performance.now() + (place.literally ? BUILD_MS_MAX : PATIENCE_MS); !isReady(); await sleep(50)) {
        if (started.child.exitCode !== null || performance.now() > end) throw new Error(`no node is ready:\n${started.output}`)
      }
      printed = started.news()
      return
    }
    const ran = spawnSync('bash', ['-c', `exec 2>&1\n${real(block.text)}`], { cwd: place.checkout, env, encoding: 'utf8' })
    printed = ran.stdout
    const wanted = Number(/# exit code (\d+)$/.exec(block.text)?.[1] ?? 0)
    if (ran.status !== wanted) fail(block, `exit code ${ran.status}:\n${printed}`)
  }

  const request = async (block: Block): Promise<void> => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, ...(JSON.parse(block.text) as object) })
    const response = await fetch(`http://127.0.0.1:${port}`, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    const { result, error } = (await response.json()) as { result?: unknown; error?: unknown }
    printed = JSON.stringify(error === undefined ? result : { error })
  }

  const compare = async (block: Block): Promise<void> => {
    if (block.label === 'node') {
      const node = server
      if (node === undefined) return fail(block, 'no node runs')
      await until(`${file}:${block.line}`, async () => textDifference(block.text, asWritten(node.peek())) === undefined).catch(() => {
        fail(block, textDifference(block.text, asWritten(node.peek())) ?? 'late')
      })
      node.news()
      return
    }
    const difference =
      block.language === 'json'
        ? jsonDifference(JSON.parse(block.text), JSON.parse(printed))
        : textDifference(block.text, asWritten(printed))
    if (difference !== undefined) fail(block, difference)
  }

  try {
    for (const block of blocksOf(page)) {
      if (block.notRun !== undefined || SHOWN.has(block.language) || block.label === 'example') continue
      if (block.language === 'sh') await runOne(block)
      else if (block.language === 'json' && block.label === 'request') await request(block)
      else if (block.language === 'json' || block.language === 'text') await compare(block)
      else if (block.language === 'js' && block.label !== '') {
        const there = fs.readFileSync(path.join(place.checkout, block.label), 'utf8').trimEnd()
        if (there !== block.text) fail(block, `${block.label} has another text`)
      } else fail(block, `a block of language "${block.language}" is neither run nor shown`)
    }
  } finally {
    await follower?.stop()
    await server?.stop()
  }
  return wrong
}
