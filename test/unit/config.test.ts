import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { parseArgs } from '../../ts/cli/args.ts'
import type { Command, CommandFamily } from '../../ts/cli/command.ts'
import { commandsPage } from '../../ts/cli/commands-page.ts'
import { DEV_FLAGS } from '../../ts/cli/dev/flags.ts'
import { commandHelp } from '../../ts/cli/help.ts'
import { COMMANDS } from '../../ts/cli/run.ts'
import { OTHER_FLAGS, SAME_FLAGS, SHORT_FLAGS } from '../../ts/cli/words.ts'
import {
  defaultFile,
  environmentName,
  helpLines,
  nearest,
  REMOVED,
  RENAMED,
  resolveSettings,
  SETTING_KEYS,
  STRUCT_LOGGER,
  settingOf,
  settingsPage,
  TRACER_NAMES,
  upgradedFile,
} from '../../ts/config/index.ts'
import { keyPlaces } from '../../ts/config/places.ts'
import { bytes, formatBytes, formatDuration, parseDuration } from '../../ts/config/units.ts'
import { tracerTable } from '../../ts/core/native.ts'
import { TRACER_TABLE_FILE, tracerTableText } from '../../ts/node/tracer-table-file.ts'

/** Lines that the help of a command may have, of 100 columns: one screen. */
const HELP_LINES_MAX = 40

const file = (text: string) => ({ path: 'node.toml', text })

const NAMESPACE_LIST =
  'a list of eth, net, web3, debug, txpool, rpc, chain, trace, ots, erigon, testing, anvil, evm, hardhat, personal, tenderly'

it('the URL of a WebSocket has no fragment', () => {
  const given = (url: string) => resolveSettings({ flags: new Map([['follow.upstream_ws_url', url]]) }).settings['follow.upstream_ws_url']
  expect(given('wss://a:1/b?c=d')).toBe('wss://a:1/b?c=d')
  expect(() => given('wss://a:1/#b')).toThrow('takes none or a URL of JSON-RPC over WebSocket')
})

describe('precedence', () => {
  const key = 'evm.http_port'
  const all = { flags: new Map([[key, '1']]), environment: { HEARTH_EVM_HTTP_PORT: '2' }, file: file('[evm]\nhttp_port = 3') }

  it('flag, environment, file, default', () => {
    expect(resolveSettings(all)).toMatchObject({ settings: { [key]: 1 }, origins: { [key]: 'flag' } })
    expect(resolveSettings({ ...all, flags: new Map() })).toMatchObject({ settings: { [key]: 2 }, origins: { [key]: 'environment' } })
    expect(resolveSettings({ file: all.file })).toMatchObject({ settings: { [key]: 3 }, origins: { [key]: 'file' } })
    expect(resolveSettings({})).toMatchObject({
      settings: { [key]: 8545, 'evm.ws_port': 8546, 'metrics.port': 9101 },
      origins: { [key]: 'default' },
    })
  })

  it('names the variable after the key', () => {
    expect(environmentName('evm.http_port')).toBe('HEARTH_EVM_HTTP_PORT')
    expect(environmentName('state-commit.flatkv.enable-kvdb-metrics')).toBe('HEARTH_STATE_COMMIT_FLATKV_ENABLE_KVDB_METRICS')
    expect(environmentName('littable.MetricsPort')).toBe('HEARTH_LITTABLE_METRICSPORT')
    expect(new Set(SETTING_KEYS.map(environmentName)).size).toBe(SETTING_KEYS.length)
  })
})

describe('refusals', () => {
  const refusal = (sources: Parameters<typeof resolveSettings>[0]): string => {
    try {
      resolveSettings(sources)
    } catch (e) {
      return (e as Error).message
    }
    return 'accepted'
  }

  it.each([
    ['evm.http_port', '65536', '--evm.http_port takes an integer from 0 to 65535, not "65536"'],
    ['evm.http_port', '', '--evm.http_port takes an integer from 0 to 65535, not ""'],
    ['state-commit.flatkv.fsync', 'interval:0', '--state-commit.flatkv.fsync takes block, interval:<ms> or none, not "interval:0"'],
    ['evm.namespaces', 'eth,Debug!', `--evm.namespaces takes ${NAMESPACE_LIST}, not "Debug!"; did you mean debug?`],
    ['workers.read_threads', '0', '--workers.read_threads takes auto or an integer from 1 to 1024, not "0"'],
    ['evm.allow_unprotected_txs', 'yes', '--evm.allow_unprotected_txs takes true or false, not "yes"'],
    ['evm.trace_timeout', '5', '--evm.trace_timeout takes a duration such as 250ms, 5s or 1m30s, from 1ms to 24h, not "5"'],
    [
      'evm.max_log_bytes',
      '64 MB',
      '--evm.max_log_bytes takes a number of bytes or a size such as 64 MiB, from 1 KiB to 16 GiB, not "64 MB"',
    ],
  ])('--%s=%s', (key, value, message) => {
    expect(refusal({ flags: new Map([[key, value]]) })).toBe(message)
  })

  it('unknown keys, with position, nearest known key and values', () => {
    const port = 'which takes an integer from 0 to 65535?'
    expect(refusal({ flags: new Map([['evm.htp_port', '1']]) })).toBe(`unknown flag --evm.htp_port; did you mean --evm.http_port, ${port}`)
    expect(refusal({ file: file('# a\n[evm]\n  http_prot = 1') })).toBe(
      `node.toml:3:3: unknown setting evm.http_prot; did you mean evm.http_port, ${port}`,
    )
    expect(refusal({ file: file('evm = 1') })).toBe('node.toml:1:1: evm is a section, such as [evm], and no setting')
    expect(refusal({ file: file('[[evm]]\nhttp_port = 1') })).toMatch(/^node.toml:1:3: evm is a section/)
    expect(refusal({ file: file('[nothing]') })).toBe('node.toml:1:2: unknown setting nothing; `hearth config list` lists every setting')
    expect(refusal({ file: file('[evm]\n[littable]') })).toBe('accepted')
    expect(refusal({ file: file('[evm]\nEnableMetrics = true') })).toMatch(/^node.toml:2:1: unknown setting evm.EnableMetrics/)
  })

  it('unknown variables warn, those of the project do not', () => {
    const environment = { HEARTH_EVM_HTTP_PROT: '1', HEARTH_FIXTURES: '/x', HEARTH_TEST_THREADS: '2', PATH: '/bin' }
    const { settings, warnings } = resolveSettings({ environment })
    expect(settings['evm.http_port']).toBe(8545)
    expect(warnings).toEqual([
      'the environment variable HEARTH_EVM_HTTP_PROT is no setting and is ignored; did you mean HEARTH_EVM_HTTP_PORT, which takes an integer from 0 to 65535?',
    ])
  })

  it('a setting that cannot have an effect warns', () => {
    expect(resolveSettings({ file: file('[evm]\nmax_estimate_gas_calls = 7\nmax_tx_pool_txs = 1000') }).warnings).toEqual([
      'evm.max_estimate_gas_calls (node.toml:2:1) has no effect on this version of the node',
    ])
  })

  it('what baking cannot work with is refused with the key', () => {
    const tracers = 'evm.trace_bake_tracers takes a list of at least one of callTracer, prestateTracer, flatCallTracer'
    expect(refusal({ file: file('[evm]\ntrace_bake_tracers = ["opcodeTracer"]') })).toContain(`${tracers}, not "opcodeTracer"`)
    expect(refusal({ file: file('[evm]\ntrace_bake_tracers = []') })).toContain(`${tracers}, not []`)
    expect(refusal({ file: file('[evm]\ntrace_bake_workers = 0') })).toContain(
      'evm.trace_bake_workers takes an integer from 1 to 1024, not 0',
    )
    expect(refusal({ file: file('[evm]\ntrace_bake_window_blocks = -1') })).toContain(
      'evm.trace_bake_window_blocks takes off (the same as 0) or an integer',
    )
  })

  it('values of the file by type, invalid TOML by line and column', () => {
    const port = 'evm.http_port takes an integer from 0 to 65535, not'
    expect(refusal({ file: file('[evm]\nhttp_port = "8545"') })).toBe(`node.toml:2:1: ${port} "8545"`)
    expect(refusal({ file: file('[evm]\nhttp_port = 8545.5') })).toBe(`node.toml:2:1: ${port} 8545.5`)
    expect(refusal({ file: file('evm = { http_port = 70000 }') })).toBe(`node.toml:1:9: ${port} 70000`)
    expect(refusal({ file: file('[evm]\nhttp_port = [1]') })).toBe(`node.toml:2:1: ${port} [1]`)
    expect(refusal({ file: file('[evm]\nhttp_port = 2020-01-01') })).toBe(`node.toml:2:1: ${port} a date`)
    expect(refusal({ file: file('[evm]\ntrace_timeout = 5') })).toMatch(/not 5: its unit is missing$/)
    expect(refusal({ file: file('[evm]\nhttp_port = \n') })).toMatch(/^node.toml:2:\d+: this is not TOML: /)
    expect(refusal({ file: file('[evm]\nhttp_port = 1\nhttp_port = 2') })).toMatch(/^node.toml:3:\d+: this is not TOML: /)
  })

  it('namespaces that do not exist, with the one that was meant', () => {
    const takes = `takes ${NAMESPACE_LIST}`
    const flags = (value: string) => ({ flags: new Map([['evm.namespaces', value]]) })
    expect(refusal(flags('eht'))).toBe(`--evm.namespaces ${takes}, not "eht"; did you mean eth?`)
    expect(refusal(flags('eth, Debug'))).toBe(`--evm.namespaces ${takes}, not "Debug"; did you mean debug?`)
    expect(refusal(flags('eth,admin'))).toBe(`--evm.namespaces ${takes}, not "admin"`)
    expect(refusal({ file: file('[evm]\nauth_namespaces = ["deubg"]') })).toBe(
      `node.toml:2:1: evm.auth_namespaces ${takes}, *, not "deubg"; did you mean debug?`,
    )
    // Of the development chain: they exist, and a node that is started does not serve them.
    const idle = 'evm.namespaces (--evm.namespaces) names anvil, which hearth dev alone serves'
    expect(resolveSettings(flags('eth,anvil')).warnings).toEqual([idle])
    expect(resolveSettings({ ...flags('eth,anvil'), dev: true }).warnings).toEqual([])
  })

  it('several at once, from all sources, overridden ones too', () => {
    const sources = {
      flags: new Map([['evm.http_port', '1']]),
      environment: { HEARTH_EVM_HTTP_PORT: 'x', HEARTH_METRICS_PORT: '-1' },
      file: file('[evm]\nhttp_port = true\nws_prot = 1'),
    }
    expect(refusal(sources)).toBe(
      [
        '4 settings cannot be used:',
        '  node.toml:3:1: unknown setting evm.ws_prot; did you mean evm.ws_port, which takes an integer from 0 to 65535?',
        '  HEARTH_EVM_HTTP_PORT takes an integer from 0 to 65535, not "x"',
        '  node.toml:2:1: evm.http_port takes an integer from 0 to 65535, not true',
        '  HEARTH_METRICS_PORT takes an integer from 0 to 65535, not "-1"',
      ].join('\n'),
    )
  })

  it('what does not go together', () => {
    const off = new Map([
      ['evm.http_enabled', 'false'],
      ['evm.ws_enabled', 'false'],
    ])
    expect(refusal({ flags: off })).toMatch(/^evm.http_enabled and evm.ws_enabled are both false/)
    const rates = { HEARTH_EVM_RATE_LIMITING_ENABLED: 'true', HEARTH_EVM_IP_RATE_LIMIT_BURST: '10' }
    expect(refusal({ environment: rates })).toBe(
      'evm.ip_rate_limit_burst is 10, less than evm.batch_request_limit: a full batch could never pass; take at least 1000',
    )
  })
})

describe('keys of earlier versions', () => {
  it('a removed key warns, from everywhere, and is ignored', () => {
    const text = 'was removed and is ignored: the names of the metrics always begin with litt_; delete it'
    const warnings = (sources: Parameters<typeof resolveSettings>[0]) => resolveSettings(sources).warnings
    expect(warnings({ file: file('[littable]\nMetricsNamespace = "x"') })).toEqual([`node.toml:2:1: littable.MetricsNamespace ${text}`])
    expect(warnings({ environment: { HEARTH_LITTABLE_METRICSNAMESPACE: 'x' } })).toEqual([`HEARTH_LITTABLE_METRICSNAMESPACE ${text}`])
    expect(warnings({ flags: new Map([['littable.MetricsNamespace', 'x']]) })).toEqual([`--littable.MetricsNamespace ${text}`])
    for (const key of [...Object.keys(REMOVED), ...Object.keys(RENAMED)]) expect(SETTING_KEYS).not.toContain(key)
    const targets = Object.values(RENAMED).map(({ to }) => to)
    expect(new Set(targets).size).toBe(targets.length)
  })

  it('the value of a renamed key is taken, with a warning', () => {
    const key = 'evm.simulation_gas_limit'
    const value = (sources: Parameters<typeof resolveSettings>[0]) => {
      const { settings, origins, from, warnings } = resolveSettings(sources)
      return [settings[key], origins[key], from[key], warnings]
    }
    expect(value({ file: file('[evm]\ngas_cap = 70000') })).toEqual([
      70_000,
      'file',
      'node.toml:2:1',
      ['node.toml:2:1: evm.gas_cap is evm.simulation_gas_limit now: its value is used; write the new name'],
    ])
    expect(value({ environment: { HEARTH_EVM_GAS_CAP: '70001' } })).toEqual([
      70_001,
      'environment',
      'HEARTH_EVM_GAS_CAP',
      ['HEARTH_EVM_GAS_CAP is HEARTH_EVM_SIMULATION_GAS_LIMIT now: its value is used; write the new name'],
    ])
    expect(value({ flags: parseArgs(['--evm.gas_cap=70002'], { flags: {} }).settings })).toEqual([
      70_002,
      'flag',
      '--evm.gas_cap',
      ['--evm.gas_cap is --evm.simulation_gas_limit now: its value is used; write the new name'],
    ])
    expect(value({ file: file('[evm]\ngas_cap = 70000\nsimulation_gas_limit = 80000') })).toEqual([
      80_000,
      'file',
      'node.toml:3:1',
      ['node.toml:2:1: evm.gas_cap is ignored: it is evm.simulation_gas_limit now, which is given too; remove the old one'],
    ])
  })

  it('a renamed key is converted and its value is checked', () => {
    const ms = { file: file('[evm]\ntrace_timeout_ms = 7000'), environment: { HEARTH_EVM_TRACE_STALL_TIMEOUT_MS: '8000' } }
    const { settings } = resolveSettings(ms)
    expect([settings['evm.trace_timeout'], settings['evm.trace_stall_timeout']]).toEqual([7000, 8000])
    expect(() => resolveSettings({ file: file('[evm]\ngas_cap = 1') })).toThrow(
      'node.toml:2:1: evm.gas_cap takes an integer from 21000 to 9007199254740991, not 1',
    )
    expect(() => resolveSettings({ environment: { HEARTH_EVM_GAS_CAP: 'x' } })).toThrow('HEARTH_EVM_GAS_CAP takes an integer')
  })
})

it('the tracers that can be allowed are those of the core', () => {
  const table = tracerTable()
  const names = (JSON.parse(table) as { name: string }[]).map(({ name }) => name)
  expect(names.length).toBeGreaterThan(5)
  expect(TRACER_NAMES).toEqual([STRUCT_LOGGER, ...names])
  // `npm run docs` writes the file.
  expect(fs.readFileSync(path.resolve(import.meta.dirname, '../..', TRACER_TABLE_FILE), 'utf8')).toBe(tracerTableText(table))
})

describe('measures', () => {
  it.each([
    ['0', 0],
    ['250ms', 250],
    ['1h2m3s4ms', 3_723_004],
    ['.5s', 500],
    ['1.5m', 90_000],
    ['1000us', 1],
    ['1.1h', 3_960_000],
    ['2.01s', 2010],
    ['1.0001s', 1000.1],
    ['1ns', 1e-6],
    ['5', undefined],
    ['-5s', undefined],
    ['5 s', undefined],
    ['s', undefined],
    ['', undefined],
  ])('the duration %j is %s', (text, ms) => {
    expect(parseDuration(text)).toBe(ms)
  })

  it('durations and sizes read back from what is written of them', () => {
    for (const ms of [0, 1, 999, 1000, 1500, 60_000, 90_000, 3_600_000]) expect(parseDuration(formatDuration(ms))).toBe(ms)
    expect([formatDuration(300_000), formatDuration(90_000), formatDuration(1500)]).toEqual(['5m', '90s', '1500ms'])
    const size = bytes(0, Number.MAX_SAFE_INTEGER)
    for (const n of [0, 1, 1023, 1024, 25_000_000, 5_242_880, 2 ** 40]) expect(size.check(formatBytes(n))).toBe(n)
    expect([formatBytes(5_242_880), formatBytes(25_000_000), formatBytes(2 ** 30)]).toEqual(['5 MiB', 25_000_000, '1 GiB'])
    expect([size.parse('64MiB'), size.parse('1_024 B')]).toEqual([67_108_864, 1024])
  })
})

describe('places of keys', () => {
  it('names line and column through all syntax of TOML', () => {
    const text = [
      'top = "[x] # no \\" comment" # [y]',
      '[a."b c".d]',
      "s = '''",
      'no = 1',
      "'''",
      '  list = [ # ]',
      '    "]", 2,',
      '  ]',
      'x.y = { z = 1, w = [{ v = 2 }], u.t = "}" }',
      '[[rows]]',
      'r = 1',
    ].join('\r\n')
    expect([...keyPlaces(text)].map(([key, { line, column }]) => `${key} ${line}:${column}`)).toEqual([
      'top 1:1',
      'a.b c.d 2:2',
      'a.b c.d.s 3:1',
      'a.b c.d.list 6:3',
      'a.b c.d.x.y 9:1',
      'a.b c.d.x.y.z 9:9',
      'a.b c.d.x.y.w 9:16',
      'a.b c.d.x.y.u.t 9:33',
      'rows 10:3',
      'rows.r 11:1',
    ])
  })

  it('reads a byte order mark, TOML 1.1 and later array elements', () => {
    const text = '\uFEFFtop = 1\nt = {\n  a = "\\e\\x41",\n}\nat = 07:32\n[[r]]\nk = 1\n[[r]]\nk = [\n]\n'
    expect([...keyPlaces(text)].map(([key, { line, column, lastLine }]) => `${key} ${line}:${column}-${lastLine}`)).toEqual([
      'top 1:2-1',
      't 2:1-4',
      't.a 3:3-3',
      'at 5:1-5',
      'r 6:3-6',
      'r.k 7:1-7',
    ])
  })

  it('ends on any text', () => {
    const texts = ['[', '=', 'a', 'a = {', 'a = [', '"', '\\', 'a = "', '}{', 'a = {=}', '[evm]\n&']
    for (const text of texts) expect(keyPlaces(text).size).toBeLessThan(3)
  })
})

describe('rendering', () => {
  const HIDDEN = SETTING_KEYS.filter((key) => /^state-commit\.flatkv\..*(enable-kvdb-metrics|EnableMetrics)$/.test(key))
  const LIMIT = 'evm.max_request_body_bytes'
  const MIB = 1024 * 1024

  it('the file of a new home names every key, all commented out', () => {
    const text = defaultFile()
    const { settings, origins, warnings } = resolveSettings({ file: file(text) })
    expect(settings).toEqual(resolveSettings({}).settings)
    expect(SETTING_KEYS.filter((key) => origins[key] !== 'default')).toEqual([])
    expect(warnings).toEqual([])
    expect(text).not.toContain('kvdb')
    expect(text).not.toContain('EnableMetrics')
    // Without the #, each line is the setting's default.
    const live = resolveSettings({ file: file(text.replaceAll(/^# (\w+ = )/gm, '$1')) })
    expect(live.settings).toEqual(settings)
    const absent = SETTING_KEYS.filter((key) => live.origins[key] === 'default')
    expect(absent).toEqual(SETTING_KEYS.filter((key) => HIDDEN.includes(key) || settingOf(key).inert === true))
    for (const key of HIDDEN) expect(absent).toContain(key)
  })

  it('the file begins with what most people change', () => {
    const lines = defaultFile().split('\n')
    const first = lines.slice(lines.indexOf('# ---- What most people change ----'))
    const keys = first.flatMap((line) => /^# (\w+) = /.exec(line)?.[1] ?? []).slice(0, 9)
    expect(keys).toEqual([
      'http_host',
      'http_port',
      'ws_port',
      'namespaces',
      'cors_origins',
      'allowed_hosts',
      'auth_token_file',
      'auth_jwt_file',
      'trace_bake_enabled',
    ])
    expect(lines.filter((line) => line.startsWith('['))).toEqual([
      '[evm]',
      '[log]',
      '[metrics]',
      '[memory]',
      '[state-commit.flatkv]',
      '[txpool]',
      '[workers]',
      '[littable]',
      '[engine]',
      '[follow]',
      '[consensus]',
      '[rest]',
      '[grpc]',
      '[dev]',
    ])
    expect(lines.findIndex((line) => line.includes('http_port = '))).toBeLessThan(20)
  })

  it('every key of that file is documented before it', () => {
    const lines = defaultFile().split('\n')
    const at = lines.indexOf('# trace_stall_timeout = "30s"')
    expect(lines.slice(at - 3, at)).toEqual([
      '',
      '# Time after which a client that reads nothing of a streamed response is disconnected.',
      '# A duration such as 250ms, 5s or 1m30s, from 1ms to 24h. Default: "30s".',
    ])
    for (const line of lines) expect(line.length).toBeLessThan(140)
  })

  it('a line without its # sets the value', () => {
    const text = defaultFile()
      .replace('# http_port = 8545', 'http_port = 1')
      .replace('# trace_bake_tracers = ["callTracer"]', 'trace_bake_tracers = ["prestateTracer"]')
      .replace('# max_request_body_bytes', 'max_request_body_bytes')
    const { settings, origins } = resolveSettings({ file: file(text) })
    expect([settings['evm.http_port'], settings['evm.trace_bake_tracers']]).toEqual([1, ['prestateTracer']])
    expect(SETTING_KEYS.filter((key) => origins[key] === 'file').length).toBe(3)
    // A default that depends on the command stays so until the line has a value.
    expect(resolveSettings({ file: file(text), dev: true }).settings[LIMIT]).toBe(5 * MIB)
    expect(resolveSettings({ file: file(defaultFile()), dev: true }).settings[LIMIT]).toBe(128 * MIB)
    for (const key of SETTING_KEYS) expect(settingOf(key).kind.check(settingOf(key).kind.plain(settings[key]))).toEqual(settings[key])
  })

  it('the page of settings names the variable of each', () => {
    for (const key of SETTING_KEYS) expect(settingsPage()).toContain(environmentName(key))
  })

  it('help names every setting with its default', () => {
    const help = helpLines()
    for (const key of SETTING_KEYS) expect(help.some((line) => line.startsWith(`  --${key}=`))).toBe(true)
    expect(help).toContain('  --evm.trace_bake_tracers=callTracer')
    expect(help).toContain('  --evm.max_log_bytes=64 MiB')
  })
})

describe('a rewritten settings file', () => {
  /** As version 0.1 wrote files: live values, each below its description. */
  const OLD = [
    '# Settings of this node. Flags and HEARTH_… variables win over this file; `hearth config print --home DIR` shows',
    '# what holds.',
    '',
    '# Written by the operators of node 7.',
    '',
    '[evm]',
    '',
    '# Port of JSON-RPC over HTTP, in other words than today.',
    '# An integer from 0 to 65535. Default: 8545.',
    'http_port = 9000 # the port behind nginx',
    '',
    '# Namespaces that are served.',
    '# A list of namespaces. Default: ["eth", "net", "web3", "debug", "txpool",',
    '# "rpc", "chain"].',
    '# the "admin" namespace is not there',
    'namespaces = [',
    '  "eth", # wallets',
    '  "debug",',
    ']',
    '',
    '# Largest body. Default: "5 MiB".',
    '# max_request_body_bytes = "5 MiB"',
    '',
    '# Most gas. Default: 50000000.',
    'gas_cap = 70000000',
    '',
    'max_log_no_block = 10000',
    '',
    '[littable]',
    'MetricsNamespace = "old"',
    '',
    '[state-commit.flatkv]',
    'enable-kvdb-metrics = false',
    '',
    '# the end',
  ].join('\n')

  it('keeps what differs from the defaults and the comments', () => {
    const upgraded = upgradedFile(file(OLD))
    expect(upgraded).toMatchObject({
      kept: ['evm.http_port', 'evm.namespaces', 'evm.simulation_gas_limit', 'state-commit.flatkv.enable-kvdb-metrics'],
      commentedOut: ['evm.max_log_no_block'],
      renamed: [{ from: 'evm.gas_cap', to: 'evm.simulation_gas_limit' }],
      removed: ['littable.MetricsNamespace'],
    })
    const fresh = defaultFile().split('\n')
    const added = upgraded.text.split('\n').filter((line) => !fresh.includes(line))
    expect(added).toEqual([
      '# Written by the operators of node 7.',
      'http_port = 9000 # the port behind nginx',
      '# the "admin" namespace is not there',
      'namespaces = ["eth", "debug"]',
      'simulation_gas_limit = 70000000',
      '# Whether the metrics page includes the internal metrics of RocksDB, for every data DB of the state store;',
      '# overrides EnableMetrics of a single DB.',
      'enable-kvdb-metrics = false',
      '# the end',
    ])
    const gone = fresh.filter((line) => !upgraded.text.split('\n').includes(line))
    expect(gone).toEqual([
      '# http_port = 8545',
      '# namespaces = ["eth", "net", "web3", "debug", "txpool", "rpc", "chain", "trace", "ots", "erigon"]',
      '# simulation_gas_limit = 50000000',
    ])
    const before = resolveSettings({ file: file(OLD), dev: true }).settings
    expect(resolveSettings({ file: file(upgraded.text), dev: true })).toMatchObject({ settings: before, warnings: [] })
  })

  it('is not changed by the next rewrite', () => {
    const { text } = upgradedFile(file(OLD))
    expect(upgradedFile(file(text)).text).toBe(text)
    expect(upgradedFile(file(defaultFile()))).toEqual({ text: defaultFile(), kept: [], commentedOut: [], renamed: [], removed: [] })
    const tried = defaultFile().replace('# http_port = 8545', '# http_port = 9\n# http_port = 8545')
    expect(upgradedFile(file(tried)).text).toBe(tried)
  })

  it('is not made of a file that cannot be used', () => {
    expect(() => upgradedFile(file('[evm]\nhttp_port = "x"'))).toThrow('node.toml:2:1: evm.http_port takes an integer')
  })
})

describe('command lines', () => {
  const shape = { flags: { home: { value: 'DIR', doc: '' }, 'with-genesis': { doc: '' } }, files: { name: 'FILE', min: 1, max: 2 } }
  const refusal = (...args: string[]): string => {
    try {
      parseArgs(args, shape)
    } catch (e) {
      return (e as Error).message
    }
    return 'accepted'
  }

  it('takes = and a space, switches, files and --', () => {
    const parsed = parseArgs(['--home', 'h', '--evm.http_port=1', '--evm.ws_port', '2', '--with-genesis', 'a', '--', '--b'], shape)
    expect([...parsed.flags]).toEqual([
      ['home', 'h'],
      ['with-genesis', 'true'],
    ])
    expect([...parsed.settings]).toEqual([
      ['evm.http_port', '1'],
      ['evm.ws_port', '2'],
    ])
    expect(parsed.files).toEqual(['a', '--b'])
  })

  it('a setting that is true or false may stand alone', () => {
    const settings = (...args: string[]) => Object.fromEntries(parseArgs(args, shape).settings)
    expect(settings('--evm.trace_bake_enabled', 'f')).toEqual({ 'evm.trace_bake_enabled': 'true' })
    expect(settings('f', '--evm.trace_bake_enabled')).toEqual({ 'evm.trace_bake_enabled': 'true' })
    expect(settings('--evm.ws_enabled', 'false', 'f')).toEqual({ 'evm.ws_enabled': 'false' })
    expect(settings('--evm.ws_enabled=false', '--http', 'f')).toEqual({ 'evm.ws_enabled': 'false', 'evm.http_enabled': 'true' })
    expect(refusal('f', '--evm.http_port')).toBe('--evm.http_port needs a value')
  })

  it('understands what geth, reth and anvil call the same', () => {
    const parsed = parseArgs(['--datadir', 'h', '--http.port=1', '--http.api', 'eth,net', '--ws.addr=::1', 'f'], shape)
    expect([...parsed.flags]).toEqual([['home', 'h']])
    expect(Object.fromEntries(parsed.settings)).toEqual({
      'evm.http_port': '1',
      'evm.namespaces': 'eth,net',
      'evm.ws_host': '::1',
    })
    const ports = { flags: { port: { value: 'PORT', settings: ['evm.http_port'], doc: '' } } } as const
    expect(parseArgs(['-p', '7'], ports).settings.get('evm.http_port')).toBe('7')
    expect(refusal('-p', '7', 'f')).toMatch(/^unknown flag -p; /)
    expect(parseArgs(['--authrpc.jwtsecret=x'], ports).settings.get('engine.jwt_secret_file')).toBe('x')
    expect(refusal('--maxpeers=1', 'f')).toMatch(/^--maxpeers is no flag of hearth: hearth has no peers: /)
    expect(refusal('--vmtrace.jsonconfig=x', 'f')).toMatch(/^--vmtrace.jsonconfig is no flag of hearth: traces need no flag: /)
    expect(refusal('--mnemonic-random', 'f')).toBe('--mnemonic-random is no flag of hearth: --mnemonic takes a phrase')
    // A setting of ours is never taken for a word of another program.
    for (const word of [...Object.keys(SAME_FLAGS), ...Object.keys(OTHER_FLAGS)]) {
      expect(SETTING_KEYS.filter((key) => key === word || (word.endsWith('*') && key.startsWith(word.slice(0, -1))))).toEqual([])
    }
    const devFlags = Object.keys(DEV_FLAGS)
    for (const name of [...Object.values(SAME_FLAGS), ...Object.values(SHORT_FLAGS)]) {
      expect(devFlags.includes(name) || SETTING_KEYS.some((key) => key === name), name).toBe(true)
    }
    for (const word of Object.keys({ ...SAME_FLAGS, ...OTHER_FLAGS })) expect(devFlags).not.toContain(word)
  })

  it('helps with every command on one screen', () => {
    const all = COMMANDS.flatMap((c) =>
      'commands' in c ? c.commands.map((sub) => [`hearth ${c.name} ${sub.name}`, sub] as const) : [[`hearth ${c.name}`, c] as const],
    )
    for (const [line, command] of all) {
      const lines = commandHelp(line, command, false).split('\n')
      expect(lines.length, line).toBeLessThanOrEqual(HELP_LINES_MAX + 1)
      for (const text of lines) expect(text.length, text).toBeLessThanOrEqual(100)
      expect(lines.at(-2)).toBe(`every setting: ${line} --help-all, or hearth config list`)
      expect(commandHelp(line, command, true)).toContain('\n  --evm.gzip_level=1\n')
    }
  })

  it('shows what `hearth db rollback --json` prints', () => {
    const db = COMMANDS.find(({ name }) => name === 'db') as CommandFamily
    const rollback = db.commands.find(({ name }) => name === 'rollback') as Command
    const shape = [
      '{',
      '  "from": {"height":120,"hash":"0x…","commitment":"0x…"},',
      '  "to": {"height":100,"hash":"0x…"},',
      '  "head": {"height":100,"hash":"0x…","commitment":"0x…"}',
      '}',
    ].join('\n')
    const help = commandHelp('hearth db rollback', rollback, false)
    expect(help).toContain(`\nwhat --json prints:\n${shape}\nfrom is the head before, `)
    expect(help).toContain('\n--dry-run, which changes nothing. commitment is the state root. --json needs no confirmation.\n')
    expect(commandsPage()).toContain(`\n\`hearth db rollback --json\`:\n\n\`\`\`json\n${shape}\n\`\`\`\n\nfrom is the head before, `)
  })

  it('keeps every value of a flag that may be given several times', () => {
    const many = { flags: { trace: { value: 'CONFIG', many: true, doc: '' } }, files: shape.files } as const
    const parsed = parseArgs(['--trace', '{"a":1}', 'f', '--trace=b', '--trace', 'b'], many)
    expect([...parsed.lists]).toEqual([['trace', ['{"a":1}', 'b', 'b']]])
    expect([parsed.flags.size, parsed.files]).toEqual([0, ['f']])
  })

  it('refuses what it does not know', () => {
    expect(refusal('--hom=x', 'f')).toBe('unknown flag --hom; did you mean --home?')
    expect(refusal('--evm.namespace=eth', 'f')).toBe(
      `unknown flag --evm.namespace; did you mean --evm.namespaces, which takes ${NAMESPACE_LIST}?`,
    )
    expect(refusal('-x', 'f')).toMatch(/^unknown flag -x; --help lists the flags /)
    expect(refusal('--home')).toBe('--home needs a value: --home DIR')
    expect(refusal('--home=a', '--home=b', 'f')).toBe('--home is given twice')
    expect(refusal('--with-genesis=1', 'f')).toBe('--with-genesis takes no value')
    expect(refusal()).toBe('FILE is missing')
    expect(refusal('a', 'b', 'c')).toBe('unexpected argument "c"')
  })

  it('finds the nearest word', () => {
    expect(nearest('improt', ['init', 'import', 'export'])).toBe('import')
    expect(nearest('x', [])).toBeUndefined()
    expect(nearest('strat', ['start', 'status'])).toBe('start')
    expect(nearest('--datadir', ['--dev.order', '--home'])).toBeUndefined()
    expect([nearest('trace', ['bake', 'replay']), nearest('attach', ['start']), nearest('x', ['db'])]).toEqual(Array(3).fill(undefined))
  })
})
