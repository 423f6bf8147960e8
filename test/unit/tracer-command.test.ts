// How the processes of JavaScript tracers are started, and what the core is told of them.
import { expect, test } from 'vitest'
import { scriptsConfig } from '../../ts/cli/node-config.ts'
import { resolveSettings, type SettingKey } from '../../ts/config/index.ts'
import { scriptCommand } from '../../ts/tracer/command.ts'

const settingsOf = (flags: Partial<Record<SettingKey, string>>) => resolveSettings({ flags: new Map(Object.entries(flags)) }).settings
const COMMAND = { program: '/bin/node', args: ['main.js'] }

test('the core is told the settings by value', () => {
  expect(scriptsConfig(settingsOf({}), COMMAND)).toEqual({
    ...COMMAND,
    workers: 0,
    queueSize: 64,
    memoryBytes: 268_435_456,
    outputBytes: 67_108_864,
  })
  const settings = settingsOf({
    'evm.trace_js_workers': '7',
    'evm.trace_js_queue_size': '8',
    'evm.trace_js_memory_bytes': '64 MiB',
    'evm.trace_js_output_bytes': '1 MiB',
  })
  expect(scriptsConfig(settings, COMMAND)).toEqual({
    ...COMMAND,
    workers: 7,
    queueSize: 8,
    memoryBytes: 67_108_864,
    outputBytes: 1_048_576,
  })
})

test('scripts that are not allowed have no command', () => {
  expect(scriptsConfig(settingsOf({ 'evm.trace_allow_js_tracers': 'false' }), COMMAND)).toBeNull()
})

test('without the library there is a sentence with what to type', () => {
  expect(scriptCommand('/nowhere/isolated-vm.node')).toEqual({
    unavailable: expect.stringMatching(/isolated-vm is not built for this Node\.js\. Type: npm run build/),
  })
})

test('the program is this Node, with nothing of V8 that scripts must not have', () => {
  const command = scriptCommand(import.meta.filename)
  if ('unavailable' in command) throw new Error(command.unavailable)
  expect(command.program).toBe(process.execPath)
  expect(command.args).toContain('--no-expose-wasm')
  expect(command.args.at(-1)).toBe(import.meta.filename)
})
