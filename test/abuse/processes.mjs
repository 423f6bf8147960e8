// Attacks that need a process of their own: a main thread that hangs, files that inflate, and what
// other users of the machine may read.
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import zlib from 'node:zlib'
import { MIB, peakMiBOf, start } from './node.mjs'
import { asking, post } from './requests.mjs'

/** Loaded into a node: a request with "spin" in its text keeps the main thread busy. */
const SPIN = path.resolve(import.meta.dirname, '../e2e/spin.cjs')

/** The setting of the attack, and what the watchdog adds at most, in milliseconds. */
const STOP_MS = 1000
const STOP_MS_MAX = 10_000

/** A node that hangs gets SIGTERM. */
async function stopWhileBusy(program, home) {
  const env = { ...process.env, NODE_OPTIONS: `--require ${SPIN}`, SPIN_UNTIL: path.join(home, 'never') }
  const { child, ended, ready } = start(program, ['start', '--home', home, `--evm.shutdown_timeout=${STOP_MS}ms`], env)
  const [url] = await ready
  const busy = new Promise((resolve) => child.stderr.on('data', (data) => String(data).includes('spins') && resolve(undefined)))
  void post(url, asking('eth_chainId', []).replace('"id":1', '"id":"spin"'))
  await busy
  child.kill('SIGTERM')
  const late = setTimeout(() => child.kill('SIGKILL'), STOP_MS_MAX)
  const how = await ended
  clearTimeout(late)
  return { said: how === 'SIGKILL' ? 'did not end' : `ended by itself with status ${how}` }
}

/** Bytes that a case file may inflate to. */
const CASE_BYTES_MAX = 1024 * MIB

/** How often the memory of a command is read, in milliseconds. */
const LOOK_MS = 10

/**
 * Imports a case file that inflates to more than the limit; its memory is compared with that of a
 * tiny file.
 */
async function inflate(program, home) {
  const member = zlib.gzipSync(Buffer.alloc(16 * MIB, 0x20))
  const bomb = path.join(home, 'bomb.json.gz')
  const tiny = path.join(home, 'tiny.json.gz')
  fs.writeFileSync(bomb, Buffer.concat(Array(CASE_BYTES_MAX / (16 * MIB) + 8).fill(member)))
  fs.writeFileSync(tiny, zlib.gzipSync('{}'))
  const peak = async (file) => {
    const child = spawn(process.execPath, [program, 'import', '--home', path.join(home, 'of-case'), '--case', file])
    let text = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (data) => {
        text += data
      })
    const ended = new Promise((resolve) => child.once('close', resolve))
    let over = false
    void ended.then(() => {
      over = true
    })
    let most = 0
    while (!over) {
      most = Math.max(most, peakMiBOf(child.pid))
      await sleep(LOOK_MS)
    }
    return { most, text }
  }
  const { most: least } = await peak(tiny)
  const { most, text } = await peak(bomb)
  for (const file of [bomb, tiny]) fs.rmSync(file)
  return { said: text.trim().split('\n').at(-1) ?? '', grew: most - least }
}

/** Files with secrets, by their names. */
const SECRETS = /^node\.(toml|token)$|jwt|key/

/** What other users of the machine may read of a home that a node made. */
async function reachable(program, parent) {
  const home = path.join(parent, 'new')
  const { child, ended, ready } = start(program, ['dev', '--home', home])
  await ready
  const mode = (file) => fs.statSync(file).mode & 0o777
  const files = fs.readdirSync(home, { recursive: true, encoding: 'utf8' }).filter((file) => SECRETS.test(path.basename(file)))
  const open = files.filter((file) => (mode(path.join(home, file)) & 0o077) !== 0)
  child.kill('SIGTERM')
  await ended
  return { said: `home ${mode(home).toString(8)}, of ${files.length} files with secrets open to others: ${open.join(' ') || 'none'}` }
}

/** Attacks on processes of their own, which have no other client. */
export const OWN_PROCESSES = [
  {
    name: 'SIGTERM while the main thread hangs',
    before: 'ignored for 12 s',
    own: stopWhileBusy,
    outcome: 'ended by itself',
  },
  {
    name: 'a case file of 1 MB that inflates to 1.1 GiB',
    before: '+2.7 GB',
    own: inflate,
    outcome: `longer than ${CASE_BYTES_MAX} bytes`,
    memoryMiB: 64,
  },
  {
    name: 'another user of the machine reads the home',
    before: 'home 755, secrets of node.toml 644',
    own: reachable,
    outcome: 'open to others: none',
  },
]
