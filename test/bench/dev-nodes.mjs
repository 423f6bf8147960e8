// Development nodes as processes, and requests that come one behind the other over one connection.
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { ANVIL } from './anvil.mjs'
import { wire } from './load.mjs'
import { environment, freePort, HEARTH, started } from './process.mjs'

/** Between two looks whether a node answers, in milliseconds. */
const LOOK_MS = 2

const START_MS_MAX = 60_000

/** Program and arguments of each side on a port. */
const SIDES = {
  hearth: async (port, more) => [
    process.execPath,
    [HEARTH, 'dev', `--evm.http_port=${port}`, `--evm.ws_port=${await freePort()}`, `--metrics.port=${await freePort()}`, ...more],
  ],
  anvil: async (port, more) => [ANVIL, ['--port', String(port), ...more]],
}

/** Names of the sides. */
export const NAMES = Object.keys(SIDES)

/**
 * Starts a development node with its defaults. The states that anvil writes, gigabytes over many
 * blocks, go to a folder that is removed when it stops: it leaves them in the home of the user.
 */
export async function devNode(side, more = []) {
  const port = await freePort()
  if (side !== 'anvil') return started(...(await SIDES[side](port, more)), port)
  const states = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-bench-anvil-'))
  const remove = () => fs.rmSync(states, { recursive: true, force: true })
  try {
    const node = await started(...(await SIDES[side](port, ['--cache-path', states, ...more])), port)
    return { ...node, stop: () => node.stop().finally(remove) }
  } catch (e) {
    remove()
    throw e
  }
}

/** Posts bytes and resolves to the text of the answer, which must have a length. */
export class Connection {
  #socket
  /** @type {(body?: string) => void} */
  #take = () => undefined

  /** Opens a connection; rejects if no process listens. */
  static open(url) {
    const { hostname, port } = new URL(url)
    return new Promise((resolve, reject) => {
      const socket = net.connect({ host: hostname, port: Number(port), noDelay: true })
      socket.once('error', reject)
      socket.once('connect', () => resolve(new Connection(socket)))
    })
  }

  constructor(socket) {
    this.#socket = socket
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
      const end = text.indexOf('\r\n\r\n')
      const length = /content-length: (\d+)/i.exec(text.slice(0, end))?.[1]
      if (end === -1 || length === undefined || text.length < end + 4 + Number(length)) return
      const body = text.slice(end + 4)
      text = ''
      this.#take(body)
    })
  }

  ask(bytes) {
    return new Promise((resolve, reject) => {
      this.#take = resolve
      this.#socket.once('error', reject)
      this.#socket.write(bytes, () => this.#socket.off('error', reject))
    })
  }

  close() {
    this.#socket.destroy()
  }
}

/** One request's bytes. */
export const call = (url, method, params) => wire(url, JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }))

/** Milliseconds from the spawn of a node until it has answered a request. */
export async function startMs(side) {
  const port = await freePort()
  const [command, args] = await SIDES[side](port, [])
  const began = performance.now()
  const child = spawn(command, args, { stdio: 'ignore', env: environment() })
  const ended = new Promise((resolve) => child.once('exit', resolve))
  const url = `http://127.0.0.1:${port}`
  const question = call(url, 'eth_blockNumber', [])
  for (;;) {
    const answer = await Connection.open(url).then(
      (connection) => connection.ask(question).finally(() => connection.close()),
      () => undefined,
    )
    if (answer?.includes('"result"')) break
    if (performance.now() - began > START_MS_MAX || child.exitCode !== null) throw new Error(`${side} does not start`)
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
  }
  const ms = performance.now() - began
  child.kill('SIGTERM')
  await ended
  return ms
}
