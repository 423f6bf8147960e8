// How the processes of JavaScript tracers are started, and the core's configuration of them.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { resolveSettings, type SettingKey } from '../../ts/config/index.ts'
import { scriptsConfig } from '../../ts/node/node-config.ts'
import { coreFile, isolatedVmFile, scriptCommand, whyNoLibrary } from '../../ts/tracer/command.ts'

const settingsOf = (flags: Partial<Record<SettingKey, string>>) => resolveSettings({ flags: new Map(Object.entries(flags)) }).settings
const COMMAND = { program: '/bin/node', args: ['main.js'] }

test('the core gets the settings by value', () => {
  expect(scriptsConfig(settingsOf({}), COMMAND)).toEqual({
    ...COMMAND,
    workers: 0,
    queueSize: 64,
    memoryBytes: 268_435_456,
    outputBytes: 67_108_864,
    requireConfinement: 'system-calls',
  })
  const settings = settingsOf({
    'evm.trace_js_workers': '7',
    'evm.trace_js_queue_size': '8',
    'evm.trace_js_memory_bytes': '64 MiB',
    'evm.trace_js_output_bytes': '1 MiB',
    'evm.trace_js_require_confinement': 'all',
  })
  expect(scriptsConfig(settings, COMMAND)).toEqual({
    ...COMMAND,
    workers: 7,
    queueSize: 8,
    memoryBytes: 67_108_864,
    outputBytes: 1_048_576,
    requireConfinement: 'all',
  })
})

test('scripts that are not allowed have no command', () => {
  expect(scriptsConfig(settingsOf({ 'evm.trace_allow_js_tracers': 'false' }), COMMAND)).toBeNull()
})

describe('without the library', () => {
  const roots: string[] = []
  afterAll(() => {
    for (const root of roots) fs.rmSync(root, { recursive: true, force: true })
  })

  /** A package with these files. */
  function packageWith(files: readonly string[]): string {
    const root = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-command-'))
    roots.push(root)
    for (const file of ['package.json', ...files]) {
      fs.mkdirSync(path.dirname(path.join(root, file)), { recursive: true })
      fs.writeFileSync(path.join(root, file), '{}')
    }
    return root
  }

  const what = `JavaScript tracers are not available: isolated-vm for Node ${process.versions.node}`

  test('in a checkout the message says to build', () => {
    const root = packageWith(['native/setup/isolated-vm.mjs', 'native/isolated-vm-1.node'])
    expect(whyNoLibrary(root)).toBe(
      `${what} is not built. Run npm run build in the checkout, which names what is missing, then start the node again`,
    )
  })

  test('an installed package names its versions of Node', () => {
    const platform = `node_modules/hearth-core-${process.platform}-${process.arch}-gnu`
    const own = packageWith(['native/isolated-vm-115.node', 'native/isolated-vm-137.node'])
    const split = packageWith([`${platform}/package.json`, `${platform}/isolated-vm-127.node`])
    const other = 'is not in this package, which has it for Node'
    expect(whyNoLibrary(own)).toBe(`${what} ${other} 20, 24. Start the node with one of these versions`)
    expect(whyNoLibrary(split)).toBe(`${what} ${other} 22. Start the node with one of these versions`)
    expect(whyNoLibrary(packageWith([]))).toBe(`${what} is not in this package, which was packed without it`)
  })

  test('the library is found in both places, by the ABI', () => {
    const platform = `node_modules/hearth-core-${process.platform}-${process.arch}-gnu`
    const own = packageWith(['native/isolated-vm-115.node'])
    const split = packageWith([`${platform}/package.json`, `${platform}/isolated-vm-127.node`])
    expect(isolatedVmFile(own, '115')).toBe(path.join(own, 'native/isolated-vm-115.node'))
    expect(isolatedVmFile(own, '127')).toBeUndefined()
    expect(isolatedVmFile(split, '127')).toBe(path.join(fs.realpathSync(split), platform, 'isolated-vm-127.node'))
  })
})

test('the program is this Node, without unsafe V8 flags', () => {
  const command = scriptCommand(import.meta.filename)
  if ('unavailable' in command) throw new Error(command.unavailable)
  expect(command.program).toBe(process.execPath)
  const node = Number(process.versions.node.split('.')[0])
  expect(command.args.includes('--no-expose-wasm')).toBe(node < 24)
  // The library of isolated-vm, then that of the core, which confines the process.
  expect(command.args.slice(-2)).toEqual([import.meta.filename, coreFile()])
})
