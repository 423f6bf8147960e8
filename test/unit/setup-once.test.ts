// Set-up that several processes start at once does its long work once.
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { sleep } from '../e2e/waiting.ts'

const ONCE = path.resolve(import.meta.dirname, '../../native/setup/once.mjs')
let dir: string

beforeEach(() => {
  dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-once-'))
})
afterEach(() => fs.rmSync(dir, { recursive: true, force: true }))

/**
 * Runs `once` in another process, behind `before`; the work records that it ran, takes 300 ms and
 * writes the file.
 */
function maker(before = ''): Promise<number | null> {
  const script = `
    import fs from 'node:fs'
    import { once } from ${JSON.stringify(ONCE)}
    const out = ${JSON.stringify(path.join(dir, 'made'))}
    ${before}
    await once(out + '/file', 'it', async () => {
      fs.appendFileSync(${JSON.stringify(path.join(dir, 'log'))}, 'made\\n')
      await new Promise((r) => setTimeout(r, 300))
      fs.mkdirSync(out)
      fs.writeFileSync(out + '/file', '')
    })`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: 'ignore' })
  return new Promise((resolve) => child.once('exit', resolve))
}

test('three processes at once: one works, no lock stays', async () => {
  expect(await Promise.all([maker(), maker(), maker()])).toEqual([0, 0, 0])
  expect(fs.readFileSync(path.join(dir, 'log'), 'utf8')).toBe('made\n')
  expect(fs.readdirSync(dir).sort()).toEqual(['log', 'made'])
})

test('the lock of a process that died is taken over', async () => {
  const child = spawn(process.execPath, ['-e', ''], { stdio: 'ignore' })
  await new Promise((resolve) => child.once('exit', resolve))
  fs.writeFileSync(path.join(dir, 'made.lock'), String(child.pid))
  expect(await maker()).toBe(0)
  expect(fs.readdirSync(dir).sort()).toEqual(['log', 'made'])
})

test('a dead process may have had the number of this one', async () => {
  expect(await Promise.race([maker("fs.writeFileSync(out + '.lock', String(process.pid))"), sleep(60_000)])).toBe(0)
  expect(fs.readdirSync(dir).sort()).toEqual(['log', 'made'])
})

test('a process does not take a lock from itself', async () => {
  const twice =
    "once(out + '/file', 'it', async () => { await new Promise((r) => setTimeout(r, 300)); fs.mkdirSync(out); fs.writeFileSync(out + '/file', '') })"
  expect(await maker(`await Promise.all([${twice}, ${twice}])`)).toBe(0)
  expect(fs.readdirSync(dir)).toEqual(['made'])
})
