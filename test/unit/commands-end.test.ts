// The ends of commands: which of them let the process end, what their failures are printed as, and
// what they leave.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterEach, expect, it, vi } from 'vitest'
import type { Terminal } from '../../ts/cli/command.ts'
import { dev } from '../../ts/cli/commands/dev.ts'
import { StateFileError } from '../../ts/cli/dev/state-files.ts'
import { eachStep } from '../../ts/cli/each-step.ts'
import { main } from '../../ts/cli/run.ts'

afterEach(() => vi.restoreAllMocks())

const quiet: Terminal = { out: () => undefined, write: async () => undefined, err: () => undefined, interactive: false }

/** Runs a command line: its exit code, what it printed as an error, whether the process may end. */
async function run(...argv: string[]): Promise<{ code: number; error: string; mayEnd: number }> {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-test-'))
  fs.mkdirSync(path.join(home, 'config'))
  const found = { error: '', mayEnd: 0 }
  const terminal: Terminal = {
    ...quiet,
    err: (text) => {
      found.error += text
    },
    closed: () => {
      found.mayEnd++
    },
  }
  return { code: await main([...argv, '--home', home], terminal), ...found }
}

it('a node that cannot start does not keep the process', async () => {
  expect(await run('follow')).toMatchObject({ code: 2, error: expect.stringContaining('--upstream is missing'), mayEnd: 1 })
  expect(await run('start', '--evm.http_port=x')).toMatchObject({ code: 2, mayEnd: 1 })
})

it('a state file that cannot be used is no defect with a stack', async () => {
  vi.spyOn(dev, 'run').mockRejectedValue(new StateFileError('state.json: Failed to decode state dump'))
  expect(await run('dev')).toMatchObject({ code: 1, error: 'error: state.json: Failed to decode state dump\n' })
})

it('a command without a node ends by itself', async () => {
  expect(await run('status')).toMatchObject({ code: 1, mayEnd: 0 })
})

it('each step of an end is taken, and no failure is lost', async () => {
  const [taken, reported] = [[] as string[], [] as unknown[]]
  const step =
    (name: string, fails = false) =>
    async (): Promise<void> => {
      taken.push(name)
      if (fails) throw new Error(name)
    }
  const failing = (): void => {
    throw new Error('EROFS')
  }
  await expect(eachStep([failing, step('cometbft', true), step('stores')], (e) => reported.push(e))).rejects.toThrow('EROFS')
  expect(taken).toEqual(['cometbft', 'stores'])
  expect(reported).toEqual([new Error('cometbft')])
  await eachStep([step('log')], (e) => reported.push(e))
  expect([taken.length, reported.length]).toEqual([3, 1])
})

it('hearth testnet that fails leaves no folder', async () => {
  const dir = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-test-')), 'net')
  expect(await main(['testnet', '--dir', dir, '--chain-id', 'x'], quiet)).toBe(2)
  expect(await main(['testnet', '--dir', dir, '--from-home', os.tmpdir()], quiet)).toBe(2)
  expect(fs.existsSync(dir)).toBe(false)
})

it.runIf(process.getuid?.() === 0)('config upgrade by root leaves the owner of the file', async () => {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-test-'))
  const file = path.join(home, 'config', 'node.toml')
  fs.mkdirSync(path.dirname(file))
  fs.writeFileSync(file, '[evm]\nhttp_port = 7\n', { mode: 0o600 })
  fs.chownSync(file, 1234, 2345)
  expect(await main(['config', 'upgrade', '--home', home], quiet)).toBe(0)
  for (const name of ['node.toml', 'node.toml.old-1']) {
    const { uid, gid, mode } = fs.statSync(path.join(home, 'config', name))
    expect([name, uid, gid, mode & 0o777]).toEqual([name, 1234, 2345, 0o600])
  }
})

it('config check refuses what a start under CometBFT refuses', async () => {
  const both = ['--consensus.enabled=true', '--engine.enabled=true', '--consensus.redirect=sender']
  const error = (await run('config', 'check', ...both)).error
  expect(error).toContain('--engine.enabled is true, and so is consensus.enabled')
  expect(error).toContain('--consensus.redirect is sender, which needs the URLs of validators')
  expect(await run('start', ...both)).toMatchObject({ code: 2, error })
  expect(await run('config', 'check', '--dev', ...both)).toMatchObject({ code: 0 })
})

it.each([['dev'], ['init'], ['status'], ['backup', '--to', '']])('%s does not take the folder of the moment', async (...argv) => {
  const errors: string[] = []
  const home = argv[0] === 'backup' ? os.tmpdir() : ''
  const terminal: Terminal = { ...quiet, err: (text) => errors.push(text) }
  expect([await main([...argv, '--home', home], terminal), errors]).toEqual([2, [expect.stringMatching(/ is (empty|missing)/)]])
})
