// The systemd unit and the container file of docs/examples: systemd parses the unit; both name
// existing commands, settings, ports and times.
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { ENGINES } from '../../native/setup/isolated-vm.mjs'
import { EXIT } from '../../ts/cli/exit.ts'
import { COMMANDS } from '../../ts/cli/run.ts'
import { resolveSettings } from '../../ts/config/index.ts'

const ROOT = path.resolve(import.meta.dirname, '../..')
const EXAMPLES = path.join(ROOT, 'docs/examples')
const MAIN = (JSON.parse(fs.readFileSync(path.join(ROOT, 'package.json'), 'utf8')) as { bin: { hearth: string } }).bin.hearth.replace(
  /^\.\//,
  '',
)
const { settings: DEFAULTS } = resolveSettings({})
const names = COMMANDS.map(({ name }) => name)

/** Bounds V8's young generation; v8-heap.test.ts has its effect. */
const YOUNG_OPTION = '--max-semi-space-size=4'

/** Node takes these options. */
const nodeTakes = (options: string): boolean =>
  spawnSync(process.execPath, ['-e', ''], { env: { ...process.env, NODE_OPTIONS: options } }).status === 0

/**
 * Why a variable of the environment would be refused; undefined if it is that of a setting and its
 * value is valid.
 */
const refusal = (name: string, value: string): string | undefined => {
  try {
    return resolveSettings({ environment: { [name]: value } }).warnings[0]
  } catch (e) {
    return (e as Error).message
  }
}

describe('hearth.service', () => {
  const file = path.join(EXAMPLES, 'hearth.service')
  const values = (key: string): string[] =>
    fs
      .readFileSync(file, 'utf8')
      .split('\n')
      .flatMap((line) => (line.startsWith(`${key}=`) ? [line.slice(key.length + 1)] : []))

  it.skipIf(spawnSync('systemd-analyze', ['--version']).status !== 0)('is read by systemd without a word', () => {
    const { status, stdout, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', file], { encoding: 'utf8' })
    expect([status, stdout, stderr]).toEqual([0, '', ''])
    const broken = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-unit-')), 'hearth.service')
    fs.writeFileSync(broken, fs.readFileSync(file, 'utf8').replace('KillMode=control-group', 'KillMode=gently'))
    expect(spawnSync('systemd-analyze', ['verify', '--man=no', broken], { encoding: 'utf8' }).stderr).toContain('gently')
    fs.rmSync(path.dirname(broken), { recursive: true })
  })

  it('starts the packaged program, and outwaits a stop', () => {
    const [command = ''] = values('ExecStart')
    expect(command).toContain(` node ${YOUNG_OPTION} ${MAIN} start --home `)
    expect(values('KillSignal')).toEqual(['SIGTERM'])
    const stopMs = DEFAULTS['evm.shutdown_delay'] + DEFAULTS['evm.shutdown_timeout']
    expect(Number(values('TimeoutStopSec')[0]) * 1000).toBeGreaterThan(2 * stopMs)
    expect(Number(values('LimitNOFILE')[0])).toBeGreaterThan(3 * DEFAULTS['evm.max_open_connections'])
    const [home] = /--home (\S+)/.exec(command)?.slice(1) ?? []
    expect(values('StateDirectory').map((name) => `/var/lib/${name}`)).toEqual([home])
    expect([values('StateDirectoryMode'), values('UMask')]).toEqual([['0700'], ['0077']])
    const [environment = ''] = values('Environment')
    expect([environment.startsWith('NODE_OPTIONS='), nodeTakes(environment.slice('NODE_OPTIONS='.length))]).toEqual([true, true])
  })
})

describe('hearth.service as a service', () => {
  const file = path.join(EXAMPLES, 'hearth.service')
  const unit = fs.readFileSync(file, 'utf8')

  it('is not started again where that does not help', () => {
    expect(unit).toContain('\nRestart=on-failure\n')
    expect(unit).toContain(`\nRestartPreventExitStatus=${EXIT.usage} ${EXIT.cannotStart}\n`)
    expect(unit).toMatch(/\n#MemoryMax=\d+G\n/)
  })

  it.skipIf(spawnSync('systemd-analyze', ['--version']).status !== 0)('is confined by what systemd has', () => {
    // In tenths: 10.0 is a service without any confinement.
    const security = (of: string) =>
      spawnSync('systemd-analyze', ['security', '--offline=true', '--threshold=30', of], { encoding: 'utf8' })
    expect(security(file).status).toBe(0)
    const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-unit-'))
    const loose = path.join(dir, 'hearth.service')
    fs.writeFileSync(loose, unit.replaceAll(/^(Protect|Restrict[A-Z]|SystemCall|CapabilityBoundingSet).*$/gm, ''))
    expect(security(loose).status).not.toBe(0)
    fs.rmSync(dir, { recursive: true })
  })

  it('names the commands that it needs, which there are', () => {
    const commands = [...unit.matchAll(/hearth (\w+) --home/g)].map(([, name]) => name)
    expect(commands).toEqual(['import', 'status'])
    for (const name of commands) expect(names).toContain(name)
    for (const word of ['useradd --system', 'install -d -o hearth', 'ln -s /opt/hearth/', 'npm run build']) expect(unit).toContain(word)
  })
})

describe('the container file', () => {
  const lines = fs
    .readFileSync(path.join(EXAMPLES, 'Containerfile'), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => line.split(/ +/))
  const of = (instruction: string): string[][] => lines.filter(([word]) => word === instruction).map(([, ...words]) => words)

  it('has valid instructions, and uses the packed tarballs', () => {
    const known = ['FROM', 'COPY', 'RUN', 'WORKDIR', 'USER', 'VOLUME', 'ENV', 'EXPOSE', 'HEALTHCHECK', 'STOPSIGNAL', 'ENTRYPOINT', 'CMD']
    expect(lines.map(([word = '']) => word).filter((word) => !known.includes(word))).toEqual([])
    expect(of('FROM')).toEqual([[expect.stringMatching(/^docker\.io\/library\/node:\d+-bookworm-slim$/)]])
    const [major] = /\d+/.exec(of('FROM')[0]?.[0] ?? '') ?? []
    expect(Object.keys(ENGINES)).toContain(major)
    expect(of('COPY')).toEqual([['dist/npm/*.tgz', '/opt/hearth/']])
    const install = of('RUN').flat().join(' ')
    expect(install).toContain('./hearth-[0-9]*.tgz ./hearth-core-linux-$(node -p process.arch)-gnu-*.tgz')
    expect(install).not.toMatch(/apt-get|build/)
  })

  it('gets the tarballs and nothing else of the host', () => {
    const ignored = fs.readFileSync(path.join(ROOT, '.dockerignore'), 'utf8').split('\n')
    expect(ignored.filter((line) => line !== '' && !line.startsWith('#'))).toEqual(['*', '!dist/npm/*.tgz'])
  })

  it('answers other containers by its name, as a user of its own', () => {
    const variables = Object.fromEntries(of('ENV').flatMap((words) => words.map((word) => word.split(/=(.*)/s).slice(0, 2))))
    const { settings } = resolveSettings({ environment: variables })
    expect(settings['evm.allowed_hosts']).toEqual(['localhost', 'hearth', 'host.docker.internal', 'host.containers.internal'])
    expect(of('USER')).toEqual([['hearth']])
    expect(of('RUN').flat().join(' ')).toContain('useradd --create-home --uid 10001 hearth')
    const said = fs.readFileSync(path.join(EXAMPLES, 'Containerfile'), 'utf8')
    expect(said).toMatch(/^# .* hearth import --genesis \/in\/genesis.json \/in\/chain.rlp$/m)
  })

  it('sets existing settings, opens their ports, runs a command', () => {
    const variables = of('ENV').flatMap((words) => words.map((word) => word.split(/=(.*)/s).slice(0, 2) as [string, string]))
    const ours = variables.filter(([name]) => name.startsWith('HEARTH_'))
    expect(ours.map(([name, value]) => [name, refusal(name, value)])).toEqual(ours.map(([name]) => [name, undefined]))
    expect(refusal('HEARTH_EVM_HTTP_HOSTS', '0.0.0.0')).toBeDefined()
    expect(nodeTakes(Object.fromEntries(variables).NODE_OPTIONS as string)).toBe(true)
    expect(of('EXPOSE')).toEqual([[DEFAULTS['evm.http_port'], DEFAULTS['evm.ws_port'], DEFAULTS['metrics.port']].map(String)])
    expect(JSON.parse(of('ENTRYPOINT')[0]?.join(' ') ?? '')).toEqual(['node', YOUNG_OPTION, `/opt/hearth/node_modules/hearth/${MAIN}`])
    const [command] = JSON.parse(of('CMD')[0]?.join(' ') ?? '') as string[]
    expect(names).toContain(command)
    expect(of('STOPSIGNAL')).toEqual([['SIGTERM']])
    expect(of('HEALTHCHECK')[0]?.join(' ')).toContain(`http://127.0.0.1:${DEFAULTS['metrics.port']}/ready`)
  })
})
