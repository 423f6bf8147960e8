// The command line: what it prints, what it refuses, and with which exit code.
import fs from 'node:fs'
import path from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { hearth, rpc, startNode, tempHome } from './harness.ts'

const dir = tempHome()
afterAll(() => fs.rmSync(dir, { recursive: true, force: true }))

describe('hearth', () => {
  it('lists its commands, and the flags and settings of each', () => {
    const help = hearth(['--help'])
    expect(help.status).toBe(0)
    for (const name of ['init', 'start', 'dev', 'import', 'export', 'config']) {
      expect(help.stdout).toMatch(new RegExp(`^  ${name} `, 'm'))
      const own = hearth([name, '--help'])
      expect([own.status, own.stdout]).toEqual([0, expect.stringContaining('--evm.http_port=8545')])
      expect(own.stdout).toContain('--home DIR')
    }
    expect(hearth(['--version']).stdout).toMatch(/^Hearth\/v\d/)
    expect(hearth([]).status).toBe(2)
  })

  it.each([
    [['strat'], 'error: unknown command "strat"; did you mean start? Commands: init, start, dev, import, export, replay, config\n'],
    [['start', '--evm.htp_port=1'], 'error: unknown flag --evm.htp_port; did you mean --evm.http_port?\n'],
    [['start', '--evm.http_port=x'], 'error: --evm.http_port takes an integer from 0 to 65535, not "x"\n'],
    [['import'], 'error: a block file or --case is missing\n'],
    [['import', '/nowhere.rlp'], 'error: the block file /nowhere.rlp does not exist\n'],
    [['import', '--genesis', '/nowhere.json', '/dev/null'], 'error: the genesis file /nowhere.json does not exist\n'],
    [['import', '--head', '0x12', '/dev/null'], expect.stringContaining('--head takes a block hash')],
    [['import', '--case', '/nowhere.json', 'x.rlp'], 'error: --case takes one recorded block and no block files\n'],
    [['export', '--from', '7', '--to', '3', 'x'], 'error: --from 7 is above --to 3\n'],
    [['export'], 'error: FILE is missing\n'],
  ])('%j is refused', (args, message) => {
    const r = hearth([...args, '--home', path.join(dir, 'none')])
    expect([r.status, r.stderr]).toEqual([2, message])
  })

  it('start on an empty home says what to do', () => {
    const r = hearth(['start', '--home', path.join(dir, 'empty'), '--evm.http_port=0', '--evm.ws_port=0'])
    expect(r.status).toBe(1)
    expect(r.stderr).toMatch(/^error: .*hearth (import|init|dev)/)
  })

  it('init makes a settings file that holds, and config says where each value is from', () => {
    const home = path.join(dir, 'h')
    expect(hearth(['init', '--home', home]).status).toBe(0)
    const file = path.join(home, 'config', 'node.toml')
    fs.writeFileSync(file, fs.readFileSync(file, 'utf8').replace('# max_logs = 10000', 'max_logs = 7'))
    const r = hearth(['config', '--home', home, '--evm.http_port=1'], { HEARTH_EVM_WS_PORT: '2' })
    expect(r.status).toBe(0)
    expect(r.stdout).toContain('evm.http_port = 1  # flag\n')
    expect(r.stdout).toContain('evm.ws_port = 2  # HEARTH_EVM_WS_PORT\n')
    expect(r.stdout).toContain(`evm.max_logs = 7  # ${file}\n`)
    expect(r.stdout).toContain('evm.gas_cap = 50000000  # default\n')
    fs.appendFileSync(file, '\n[evm.more]\nx = 1\n')
    const bad = hearth(['config', '--home', home])
    expect([bad.status, bad.stderr]).toEqual([2, expect.stringContaining('unknown setting evm.more.x')])
  })

  it('serves the namespaces that are asked for, and none else', async () => {
    const node = await startNode(['dev', '--home', path.join(dir, 'ns'), '--evm.namespaces=eth,rpc'])
    expect((await rpc(node.url, 'rpc_modules')).result).toEqual({ eth: '1.0', rpc: '1.0' })
    expect((await rpc(node.url, 'eth_chainId')).result).toBe('0x7a69')
    expect((await rpc(node.url, 'net_version')).error).toEqual({
      code: -32601,
      message: 'the method net_version does not exist/is not available',
    })
    expect(await node.stop()).toBe(0)
  })
})
