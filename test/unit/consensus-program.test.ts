// The program of CometBFT, the socket that it is given, and one that is left from an earlier run.
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { abciAddress } from '../../ts/consensus/address.ts'
import { builtVersion, findBinary, mempoolOf, openBinary } from '../../ts/consensus/binary.ts'
import { engineHome } from '../../ts/consensus/layout.ts'
import { endLeftOver, readPid, startArguments, writePid } from '../../ts/consensus/left-over.ts'
import { until } from '../e2e/waiting.ts'
import { afterwards, cleanUp, fake, isAlive, newFolder, newHome } from './fake-cometbft.ts'

afterEach(cleanUp)

describe('finds the program', () => {
  it('on the PATH, then in go/bin', () => {
    const [first, second, user] = [fake([{ ends: 0 }]), fake([{ ends: 0 }]), newFolder()]
    expect(findBinary('auto', { PATH: `relative:${newFolder()}:${first.folder}:${second.folder}` }, user)).toBe(first.program)
    fs.mkdirSync(path.join(user, 'go/bin'), { recursive: true })
    fs.copyFileSync(second.program, path.join(user, 'go/bin/cometbft'))
    expect(findBinary('auto', {}, user)).toBe(path.join(user, 'go/bin/cometbft'))
    expect(findBinary(second.program)).toBe(second.program)
  })

  it('or says how to install it', () => {
    const install = 'cometbft is not installed: go install github.com/cometbft/cometbft/cmd/cometbft@v0.40.0'
    expect(() => findBinary('auto', { PATH: newFolder() }, newFolder())).toThrow(install)
    expect(() => findBinary('/nonexistent/cometbft')).toThrow('go install github.com/cometbft/cometbft/cmd/cometbft@v0.40.0')
    const file = path.join(newFolder(), 'cometbft')
    fs.writeFileSync(file, 'no program', { mode: 0o644 })
    expect(() => findBinary(file)).toThrow('is no program')
  })

  it('and its version, wherever in it that stands', () => {
    expect(openBinary(fake([{ ends: 0 }], '0.38.26').program)).toMatchObject({ version: '0.38.26', mempool: 'flood' })
    expect(openBinary(fake([{ ends: 0 }], '0.40.0-rc1').program)).toMatchObject({ version: '0.40.0-rc1', mempool: 'app' })
    const line = 'mod\tgithub.com/cometbft/cometbft\tv0.39.4\th1:x=\n'
    const file = path.join(newFolder(), 'cometbft')
    // Across the border of what is read at a time, and not at it.
    for (const before of [0, 4 * 1024 * 1024 - 40, 4 * 1024 * 1024 - 5, 4 * 1024 * 1024 + 300, 9_000_000]) {
      fs.writeFileSync(file, Buffer.concat([Buffer.alloc(before), Buffer.from(line), Buffer.alloc(before)]), { mode: 0o755 })
      expect(builtVersion(file), String(before)).toBe('0.39.4')
    }
    fs.writeFileSync(file, Buffer.alloc(1000), { mode: 0o755 })
    expect(() => openBinary(file)).toThrow('holds no version of CometBFT')
  })

  it('and what the version means', () => {
    expect(['0.38.0', '0.39.4', '0.40.0', '0.41.2'].map(mempoolOf)).toEqual(['flood', 'flood', 'app', 'app'])
    expect(() => mempoolOf('0.37.9')).toThrow('CometBFT 0.37.9 is not supported')
    expect(() => mempoolOf('1.0.1')).toThrow('CometBFT 1.0.1 is not supported')
  })
})

describe('the socket', () => {
  it('is in the home, a temporary folder, or as the setting says', () => {
    expect(abciAddress('/home/x/.hearth', 'auto').address).toBe('unix:///home/x/.hearth/data/abci.sock')
    const folder = newFolder()
    const elsewhere = abciAddress(`/${'x'.repeat(100)}`, 'auto', folder)
    const socket = elsewhere.address.slice('unix://'.length)
    expect(path.dirname(path.dirname(socket))).toBe(folder)
    expect(fs.statSync(path.dirname(socket)).mode & 0o777).toBe(0o700)
    elsewhere.remove()
    expect(fs.readdirSync(folder)).toEqual([])
    expect(abciAddress('/x', 'tcp://127.0.0.1:7').address).toBe('tcp://127.0.0.1:7')
    const most = `/${'x'.repeat(106)}`
    expect(abciAddress('/x', `unix://${most}`).address).toBe(`unix://${most}`)
    expect(() => abciAddress('/x', `unix://${most}y`)).toThrow('has 108 bytes; 107 are possible')
  })
})

/** A process that has a command line of the test's choice. */
function start(program: string, args: readonly string[]): number {
  const child = spawn(program, args, { stdio: 'ignore' })
  afterwards(() => void child.kill('SIGKILL'))
  return child.pid as number
}

describe('a CometBFT that was left', () => {
  const quick = { alone: 20, term: 2000, kill: 2000 }

  it('is waited for', async () => {
    const [home, engine, said] = [newHome(), fake([{ ends: 'stay' }]), [] as string[]]
    const pid = start(engine.program, startArguments(home, 'unix:///x'))
    writePid(home, pid)
    await until('it runs', () => engine.starts().length === 1)
    const waiting = endLeftOver(home, (what) => said.push(what), { ms: { ...quick, alone: 60_000 } })
    await until('it is waited for', () => said.length === 1)
    process.kill(pid, 'SIGKILL')
    await waiting
    expect(said).toEqual(['waiting for the CometBFT of an earlier run to end'])
    expect(readPid(home)).toBeUndefined()
  })

  it.each([
    ['stay' as const, ['SIGTERM']],
    ['deaf' as const, ['SIGTERM', 'SIGKILL']],
  ])('is ended: %s', async (ends, signals) => {
    const [home, engine, said] = [newHome(), fake([{ ends }]), [] as string[]]
    const pid = start(engine.program, startArguments(home, 'unix:///x'))
    await until('it runs', () => engine.starts().length === 1)
    await endLeftOver(home, (what) => said.push(what), { ms: { ...quick, term: ends === 'deaf' ? 100 : 60_000, kill: 60_000 } })
    // A process that has ended is a zombie until this process takes note of it.
    await until('it is gone', () => !isAlive(pid))
    expect(said.slice(1)).toEqual(signals.map((signal) => `ending the CometBFT of an earlier run with ${signal}`))
  })

  it('is left alone if it is not of Hearth, or of another home', async () => {
    const [home, other, engine] = [newHome(), newHome(), fake([{ ends: 'stay' }])]
    const foreign = start(engine.program, ['start', '--home', engineHome(home)])
    const elsewhere = start(engine.program, startArguments(other, 'unix:///x'))
    await until('they run', () => engine.starts().length === 2)
    await expect(endLeftOver(home, () => undefined, { ms: quick })).rejects.toThrow(
      `process ${foreign} is a CometBFT on ${engineHome(home)} that Hearth did not start`,
    )
    expect([foreign, elsewhere].map(isAlive)).toEqual([true, true])
  })

  it('is nobody where none runs', async () => {
    const [home, said] = [newHome(), [] as string[]]
    writePid(home, process.pid)
    await endLeftOver(home, (what) => said.push(what), { ms: quick })
    expect(said).toEqual([])
    expect(readPid(home)).toBeUndefined()
  })
})
