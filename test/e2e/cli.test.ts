// The command line: what it prints, what it refuses, and with which exit code.
import fs from 'node:fs'
import path from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { SETTING_KEYS } from '../../ts/config/index.ts'
import { hearth, rpc, startNode, tempHome } from './harness.ts'

const dir = tempHome()
afterAll(() => fs.rmSync(dir, { recursive: true, force: true }))

describe('hearth', () => {
  it('lists its commands, and helps with each on one screen', () => {
    const help = hearth(['--help'])
    expect(help.status).toBe(0)
    for (const name of ['init', 'start', 'dev', 'import', 'export', 'config']) {
      expect(help.stdout).toMatch(new RegExp(`^  ${name} `, 'm'))
      const own = hearth([name, '--help'])
      expect([own.status, own.stdout]).toEqual([
        0,
        expect.stringContaining(`every setting: hearth ${name} --help-all, or hearth config list\n`),
      ])
      expect(own.stdout).toContain('--home DIR')
      expect(hearth(['help', name])).toMatchObject({ status: 0, stdout: own.stdout })
    }
    const start = hearth(['start', '--help']).stdout
    expect(start).toMatch(/^ {2}--port PORT /m)
    expect(start).toMatch(/^ {2}--evm.trace_bake_enabled=false {2}Whether /m)
    expect(start).not.toContain('--evm.gzip_level')
    const all = hearth(['start', '--help-all']).stdout
    for (const key of SETTING_KEYS) expect(all).toContain(`\n  --${key}=`)
    expect(hearth(['config', 'list']).stdout.split('\n  --').length).toBe(SETTING_KEYS.length)
    expect(hearth(['help', 'db', 'verify']).stdout).toBe(hearth(['db', 'verify', '--help']).stdout)
    expect(hearth(['--version']).stdout).toMatch(/^hearth\/v\d/)
    expect(hearth(['version']).stdout).toBe(hearth(['--version']).stdout)
    expect(hearth([]).status).toBe(2)
  })

  it('takes flags before the command', () => {
    const home = path.join(dir, 'leading')
    const print = (...args: string[]) => hearth([...args, '--json']).stdout
    const value = (text: string, key: string) => JSON.parse(text)[key].value
    const behind = print('config', 'diff', '--home', home, '--evm.http_port=7', '--evm.trace_bake_enabled')
    expect([value(behind, 'evm.http_port'), value(behind, 'evm.trace_bake_enabled')]).toEqual([7, true])
    expect(print('--home', home, '--evm.http_port', '7', '--evm.trace_bake_enabled', 'config', 'diff')).toBe(behind)
    expect(print(`--home=${home}`, '--evm.trace_bake_enabled', 'true', '--http.port=7', 'config', 'diff')).toContain('"value": 7')
    expect(hearth(['--home', home, 'db', 'info']).stderr).toContain(`${home} has no chain yet`)
    expect(hearth(['--home', home])).toMatchObject({ status: 2, stderr: expect.stringMatching(/^error: a command is missing: init, /) })
  })

  it.each([
    [
      ['strat'],
      'error: unknown command "strat"; did you mean start? Commands: init, start, dev, follow, status, testnet, import, export, replay, trace, compare, simulate, bake, db, backup, config\n',
    ],
    [
      ['start', '--evm.htp_port=1'],
      'error: unknown flag --evm.htp_port; did you mean --evm.http_port, which takes an integer from 0 to 65535?\n',
    ],
    [['rollback', '5'], 'error: there is no command "hearth rollback": `hearth db rollback`\n'],
    [['attach'], expect.stringMatching(/^error: there is no command "hearth attach": hearth has no console: /)],
    [['tracing'], expect.stringMatching(/^error: unknown command "tracing". Commands: init, start, /)],
    [['db', 'inspect'], expect.stringMatching(/^error: there is no command "hearth db inspect": `hearth db info` /)],
    [['start', '--syncmode=full'], expect.stringMatching(/^error: --syncmode is no flag of hearth: hearth has no peers: /)],
    [['start', '--port', '1', '--http.port', '2'], 'error: --port and --http.port are the same setting: give one of them\n'],
    [['start', '--colour'], 'error: unknown flag --colour; --help lists the flags of the command, `hearth config list` every setting\n'],
    [['start', '--evm.http_port=x'], 'error: --evm.http_port takes an integer from 0 to 65535, not "x"\n'],
    [['import'], 'error: a block file or --case is missing\n'],
    [['import', '/nowhere.rlp'], 'error: the block file /nowhere.rlp does not exist\n'],
    [['import', '--genesis', '/nowhere.json', '/dev/null'], 'error: the genesis file /nowhere.json does not exist\n'],
    [['import', '--head', '0x12', '/dev/null'], expect.stringContaining('--head takes a block hash')],
    [['import', '--case', '/nowhere.json', 'x.rlp'], 'error: --case takes one recorded block and no block files\n'],
    [['export', '--from', '7', '--to', '3', 'x'], 'error: --from 7 is above --to 3\n'],
    [['export'], 'error: FILE is missing\n'],
    // `help` after the command is an argument like any other.
    [['import', 'help'], 'error: the block file help does not exist\n'],
    [['start', '-x'], expect.stringMatching(/^error: unknown flag -x; /)],
  ])('%j is refused', (args, message) => {
    const r = hearth([...args, '--home', path.join(dir, 'none')])
    expect([r.status, r.stderr]).toEqual([2, message])
  })

  it('start on an empty home explains it, with its own exit code', () => {
    const r = hearth(['start', '--home', path.join(dir, 'empty'), '--port=0', '--evm.ws_port=0', '--metrics.port=0'])
    expect(r.status).toBe(3)
    expect(r.stderr).toMatch(/^error: .*hearth (import|init|dev)/)
  })

  it('start beside another node has the same exit code', async () => {
    const home = path.join(dir, 'taken')
    const node = await startNode(['dev', '--home', home])
    try {
      const second = hearth(['start', '--home', home, '--port=0', '--evm.ws_port=0', '--metrics.port=0'])
      expect([second.status, second.stderr]).toEqual([3, expect.stringContaining(`${home} is in use by process ${node.pid} `)])
      // Other commands fail as ever: they may succeed later.
      expect(hearth(['db', 'migrate', '--home', home]).status).toBe(1)
    } finally {
      expect(await node.stop()).toBe(0)
    }
  })

  it('init makes a valid settings file; config inspects it', () => {
    const home = path.join(dir, 'h')
    expect(hearth(['init', '--home', home]).status).toBe(0)
    const file = path.join(home, 'config', 'node.toml')
    const made = fs.readFileSync(file, 'utf8')
    expect(hearth(['config', 'diff', '--home', home]).stdout).toBe('')
    expect(hearth(['init', '--home', home]).status).toBe(0)
    expect(fs.readFileSync(file, 'utf8')).toBe(made)
    expect(made.split('\n').filter((line) => !/^(#.*|\[[a-z.-]+\]|)$/.test(line))).toEqual([])
    fs.writeFileSync(file, made.replace('# max_log_no_block = 10000', 'max_log_no_block = 7'))
    const line = made.slice(0, made.indexOf('# max_log_no_block = ')).split('\n').length

    const given = ['--home', home, '--evm.http_port', '1'] as const
    const environment = { HEARTH_EVM_WS_PORT: '2', HEARTH_EVM_WS_PROT: '3' }
    const printed = hearth(['config', 'print', ...given], environment)
    expect(printed.status).toBe(0)
    expect(printed.stdout).toContain('evm.http_port = 1  # --evm.http_port\n')
    expect(printed.stdout).toContain('evm.ws_port = 2  # HEARTH_EVM_WS_PORT\n')
    expect(printed.stdout).toContain(`evm.max_log_no_block = 7  # ${file}:${line}:1\n`)
    expect(printed.stdout).toContain('state-commit.flatkv.enable-kvdb-metrics = true  # default\n')
    expect(printed.stderr).toMatch(
      /^warning: the environment variable HEARTH_EVM_WS_PROT is no setting and is ignored; did you mean HEARTH_EVM_WS_PORT/,
    )
    expect(hearth(['config', ...given], environment).stdout).toBe(printed.stdout)

    expect(hearth(['config', 'diff', ...given], environment).stdout).toBe(
      [
        'evm.http_port = 1  # default 8545; --evm.http_port',
        'evm.ws_port = 2  # default 8546; HEARTH_EVM_WS_PORT',
        `evm.max_log_no_block = 7  # default 10000; ${file}:${line}:1\n`,
      ].join('\n'),
    )
    expect(JSON.parse(hearth(['config', 'diff', '--json', ...given]).stdout)).toEqual({
      'evm.http_port': { value: 1, origin: 'flag', from: '--evm.http_port', default: 8545 },
      'evm.max_log_no_block': { value: 7, unit: 'logs', origin: 'file', from: `${file}:${line}:1`, default: 10_000 },
    })
    const all = JSON.parse(hearth(['config', 'print', '--json', '--dev', '--home', home]).stdout)
    expect(all['evm.max_request_body_bytes']).toEqual({
      value: 134_217_728,
      unit: 'bytes',
      origin: 'default',
      from: 'default',
      default: 134_217_728,
    })
    const valid = hearth(['config', 'check', ...given])
    expect([valid.status, valid.stdout]).toEqual([
      0,
      expect.stringMatching(/^the settings are valid: 1 from flags, 0 from the environment, /),
    ])
  })

  it('a home by import or dev has the same file, and keeps its own', async () => {
    const dev = path.join(dir, 'made-by-dev')
    const node = await startNode(['dev', '--home', dev])
    expect(await node.stop()).toBe(0)
    const made = fs.readFileSync(path.join(dev, 'config', 'node.toml'), 'utf8')
    expect(hearth(['init', '--home', path.join(dir, 'made-by-init')]).status).toBe(0)
    expect(made).toBe(fs.readFileSync(path.join(dir, 'made-by-init', 'config', 'node.toml'), 'utf8'))
    const [chain, home] = [path.join(dir, 'empty.rlp'), path.join(dir, 'made-by-import')]
    fs.writeFileSync(chain, '')
    const genesis = path.join(dev, 'config', 'genesis.json')
    const imported = () => hearth(['import', '--home', home, '--genesis', genesis, chain]).status
    expect(imported()).toBe(0)
    const file = path.join(home, 'config', 'node.toml')
    expect(fs.readFileSync(file, 'utf8')).toBe(made)
    fs.writeFileSync(file, '[evm]\nhttp_port = 1\n')
    expect(imported()).toBe(0)
    expect(fs.readFileSync(file, 'utf8')).toBe('[evm]\nhttp_port = 1\n')
    // An import that cannot begin leaves no home.
    expect(hearth(['import', '--home', path.join(dir, 'typo'), chain]).status).toBe(1)
    expect(fs.existsSync(path.join(dir, 'typo'))).toBe(false)
  })

  it('an earlier file is valid, and is upgraded on demand', () => {
    const home = path.join(dir, 'old')
    const file = path.join(home, 'config', 'node.toml')
    fs.mkdirSync(path.dirname(file), { recursive: true })
    const old = '[evm]\n# ours\ngas_cap = 70000 # low\nhttp_port = 8545\n[littable]\nMetricsNamespace = "x"\n'
    fs.writeFileSync(file, old, { mode: 0o600 })
    const removed = `${file}:6:1: littable.MetricsNamespace was removed and is ignored: the names of the metrics always begin with litt_; delete it`
    const renamed = `${file}:3:1: evm.gas_cap is evm.simulation_gas_limit now: its value is used; write the new name`
    const check = () => hearth(['config', 'check', '--home', home])
    expect(check()).toMatchObject({
      status: 0,
      stderr: `warning: ${removed}\nwarning: ${renamed}\n`,
      stdout: expect.stringMatching(
        /^the settings are valid: 0 from flags, 0 from the environment, 2 from the file, \d+ by default\nvalues in the file that equal the default: 1 /,
      ),
    })
    expect(hearth(['config', 'upgrade', '--home', home])).toMatchObject({
      status: 0,
      stdout: [
        `rewrote ${file}: 1 setting kept, 1 setting commented out because the value is the default`,
        '  kept evm.simulation_gas_limit',
        '  renamed evm.gas_cap to evm.simulation_gas_limit',
        '  removed littable.MetricsNamespace: the names of the metrics always begin with litt_',
        `the old file is ${file}.old-1\n`,
      ].join('\n'),
    })
    expect(fs.readFileSync(`${file}.old-1`, 'utf8')).toBe(old)
    expect(fs.statSync(file).mode & 0o777).toBe(0o600)
    expect(fs.readFileSync(file, 'utf8')).toContain('\n# ours\nsimulation_gas_limit = 70000 # low\n')
    expect(check()).toMatchObject({ stderr: '', stdout: expect.stringMatching(/, 1 from the file, \d+ by default\n$/) })
    expect(hearth(['config', 'diff', '--home', home]).stdout).toMatch(/^evm.simulation_gas_limit = 70000 {2}# default 50000000; .*\n$/)
    expect(hearth(['config', 'upgrade', '--home', home]).stdout).toBe(`${file} has the form of this version already\n`)
    expect(hearth(['config', 'upgrade', '--home', path.join(dir, 'nothing')])).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('does not exist: `hearth init` writes one'),
    })
  })

  it('config check and start refuse files that cannot be used', () => {
    const home = path.join(dir, 'files')
    fs.mkdirSync(path.join(home, 'config'), { recursive: true })
    const [token, jwt, toml] = [path.join(home, 'token'), path.join(home, 'jwt'), path.join(home, 'config', 'node.toml')]
    fs.writeFileSync(token, 'short\n')
    fs.writeFileSync(toml, `[evm]\nauth_jwt_file = "${jwt}"\n`)
    const lines = [
      'error: 3 settings cannot be used:',
      `  --evm.auth_token_file: ${token} must hold one token a line, 1 to 1000 of them, each of at least 16 characters, no spaces`,
      `  ${toml}:2:1: evm.auth_jwt_file: cannot read ${jwt}: no such file`,
      `  --littable.extra_roots names ${token}, which is not a folder\n`,
    ]
    for (const command of [['config', 'check'], ['start']]) {
      const { status, stdout, stderr } = hearth([
        ...command,
        '--home',
        home,
        `--evm.auth_token_file=${token}`,
        `--littable.extra_roots=${token}`,
      ])
      expect([status, stdout, stderr]).toEqual([2, '', lines.join('\n')])
    }
    const nowhere = path.join(dir, 'nowhere')
    expect(hearth(['config', 'check', '--home', nowhere])).toMatchObject({
      status: 2,
      stdout: '',
      stderr: `error: --home names ${nowhere}: there is no home; \`hearth init --home DIR\` makes one\n`,
    })
  })

  it('config check refuses what does not hold, all of it at once', () => {
    const home = path.join(dir, 'bad')
    fs.mkdirSync(path.join(home, 'config'), { recursive: true })
    const file = path.join(home, 'config', 'node.toml')
    fs.writeFileSync(file, '[evm]\nhttp_port = "x"\n[littable]\nMetricsPrefix = 1\n')
    const bad = hearth(['config', 'check', '--home', home, '--evm.ws_port=-1'])
    expect([bad.status, bad.stdout, bad.stderr]).toEqual([
      2,
      '',
      [
        'error: 3 settings cannot be used:',
        `  ${file}:4:1: unknown setting littable.MetricsPrefix; did you mean littable.MetricsPort, which takes an integer from 0 to 65535?`,
        `  ${file}:2:1: evm.http_port takes an integer from 0 to 65535, not "x"`,
        '  --evm.ws_port takes an integer from 0 to 65535, not "-1"\n',
      ].join('\n'),
    ])
    expect(hearth(['start', '--home', home]).status).toBe(2)
    expect(hearth(['config', 'chekc', '--home', home]).stderr).toBe(
      'error: hearth config takes check, print, diff, list, upgrade, not "chekc"\n',
    )
  })

  it('serves the namespaces that are asked for, and none else', async () => {
    const node = await startNode(['dev', '--home', path.join(dir, 'ns'), '--evm.namespaces=eth,rpc'])
    // A development chain always has the methods of its own.
    const own = { anvil: '1.0', evm: '1.0', hardhat: '1.0', personal: '1.0', tenderly: '1.0' }
    expect((await rpc(node.url, 'rpc_modules')).result).toEqual({ eth: '1.0', rpc: '1.0', ...own })
    expect((await rpc(node.url, 'eth_chainId')).result).toBe('0x7a69')
    expect((await rpc(node.url, 'net_version')).error).toEqual({
      code: -32601,
      message: 'the method net_version does not exist/is not available',
    })
    expect(await node.stop()).toBe(0)
  })
})
