import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { parseArgs } from '../../ts/cli/args.ts'
import { defaultFile, environmentName, nearest, resolveSettings, SETTING_KEYS, settingsPage } from '../../ts/config/index.ts'

const file = (text: string) => ({ path: 'node.toml', text })

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
    expect(environmentName('state-commit.flatkv.some_key')).toBe('HEARTH_STATE_COMMIT_FLATKV_SOME_KEY')
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
    ['evm.http_port', '80x', '--evm.http_port takes an integer from 0 to 65535, not "80x"'],
    ['evm.http_port', '', '--evm.http_port takes an integer from 0 to 65535, not ""'],
    ['storage.fsync', 'interval:0', '--storage.fsync takes block, interval:<ms> or none, not "interval:0"'],
    ['evm.namespaces', 'eth,Debug!', '--evm.namespaces takes a comma-separated list of namespaces, not "Debug!"'],
    ['workers.read_threads', '0', '--workers.read_threads takes auto or an integer from 1 to 1024, not "0"'],
    ['evm.allow_unprotected_txs', 'yes', '--evm.allow_unprotected_txs takes true or false, not "yes"'],
  ])('--%s=%s', (key, value, message) => {
    expect(refusal({ flags: new Map([[key, value]]) })).toBe(message)
  })

  it('unknown keys, with the nearest known one', () => {
    expect(refusal({ flags: new Map([['evm.htp_port', '1']]) })).toBe('unknown flag --evm.htp_port; did you mean --evm.http_port?')
    expect(refusal({ file: file('[evm]\nhttp_prot = 1') })).toBe('node.toml: unknown setting evm.http_prot; did you mean evm.http_port?')
    expect(refusal({ environment: { HEARTH_EVM_HTTP_PROT: '1' } })).toBe(
      'unknown environment variable HEARTH_EVM_HTTP_PROT; did you mean HEARTH_EVM_HTTP_PORT?',
    )
    expect(refusal({ environment: { HEARTH_FIXTURES: '/x', PATH: '/bin' } })).toBe('accepted')
  })

  it('values of the file by type, and text that is no TOML', () => {
    expect(refusal({ file: file('[evm]\nhttp_port = "8545"') })).toBe(
      'node.toml: evm.http_port takes an integer from 0 to 65535, not "8545"',
    )
    expect(refusal({ file: file('[evm]\nnamespaces = "eth"') })).toMatch(/^node.toml: evm.namespaces takes a comma-separated list/)
    expect(refusal({ file: file('[evm') })).toMatch(/^node.toml is not TOML: /)
  })
})

describe('rendering', () => {
  it('the default file names every key and changes nothing', () => {
    const text = defaultFile()
    expect(resolveSettings({ file: file(text) })).toEqual(resolveSettings({}))
    const live = text.replace(/^# (\w+ = )/gm, '$1')
    const resolved = resolveSettings({ file: file(live) })
    expect(resolved.settings).toEqual(resolveSettings({}).settings)
    const elsewhere = SETTING_KEYS.filter((key) => resolved.origins[key] !== 'file')
    expect(elsewhere).toEqual(['state-commit.flatkv.enable-kvdb-metrics'])
  })

  it('the page of settings is the committed one', () => {
    const page = path.resolve(import.meta.dirname, '../../docs/settings.md')
    expect(fs.readFileSync(page, 'utf8')).toBe(settingsPage())
    for (const key of SETTING_KEYS) expect(settingsPage()).toContain(environmentName(key))
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

  it('keeps every value of a flag that may be given several times', () => {
    const many = { flags: { trace: { value: 'CONFIG', many: true, doc: '' } }, files: shape.files } as const
    const parsed = parseArgs(['--trace', '{"a":1}', 'f', '--trace=b', '--trace', 'b'], many)
    expect([...parsed.lists]).toEqual([['trace', ['{"a":1}', 'b', 'b']]])
    expect([parsed.flags.size, parsed.files]).toEqual([0, ['f']])
  })

  it('refuses what it does not know', () => {
    expect(refusal('--hom=x', 'f')).toBe('unknown flag --hom; did you mean --home?')
    expect(refusal('--evm.namespace=eth', 'f')).toBe('unknown flag --evm.namespace; did you mean --evm.namespaces?')
    expect(refusal('-x', 'f')).toMatch(/^unknown flag --x/)
    expect(refusal('--home')).toBe('--home needs a value: --home DIR')
    expect(refusal('--home=a', '--home=b', 'f')).toBe('--home is given twice')
    expect(refusal('--with-genesis=1', 'f')).toBe('--with-genesis takes no value')
    expect(refusal()).toBe('FILE is missing')
    expect(refusal('a', 'b', 'c')).toBe('unexpected argument "c"')
  })

  it('finds the nearest word', () => {
    expect(nearest('improt', ['init', 'import', 'export'])).toBe('import')
    expect(nearest('x', [])).toBeUndefined()
  })
})
