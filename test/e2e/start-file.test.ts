// The program in one file, as the build writes it: `hearth` starts from it, and it is the same
// program as its modules.
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, it } from 'vitest'
import { hearth, ROOT, startNode, tempHome } from './harness.ts'

const CLI = path.join(ROOT, 'dist/cli')
const built = (name: string): number => fs.statSync(path.join(CLI, name), { throwIfNoEntry: false })?.mtimeMs ?? 0

const stale = built('program.cjs') < built('run.js')

/** Runs a script that has the loader and the modules, and gives what it prints. */
function run(script: string): unknown {
  const url = (name: string): string => JSON.stringify(pathToFileURL(path.join(CLI, name)).href)
  const head = `const { loadProgram } = await import(${url('load.js')}); const modules = await import(${url('run.js')});`
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', `${head}\n${script}`], { encoding: 'utf8' })
  if (stderr !== '') throw new Error(stderr)
  return JSON.parse(stdout)
}

it.skipIf(stale)(`is loaded from its file and cache${stale ? ' (skipped: npm run build makes the file)' : ''}`, () => {
  const loaded = run(
    'const p = await loadProgram(); console.log(JSON.stringify([p.cached, p.codeCache().length > 100_000, p.main !== modules.main]))',
  )
  expect(loaded).toEqual([true, true, true])
})

it.skipIf(stale)('is the same program: help and settings are equal', () => {
  const text = run(`
    const p = await loadProgram()
    const printed = async (main, argv) => {
      let text = ''
      const terminal = { out: (t) => { text += t }, err: (t) => { text += t }, write: async (b) => { text += b }, interactive: false }
      return [await main(argv, terminal), text]
    }
    const lines = [['--help'], ['dev', '--help'], ['config', 'print', '--home', '/nowhere'], ['nothing']]
    const both = []
    for (const argv of lines) both.push([await printed(p.main, argv), await printed(modules.main, argv)])
    console.log(JSON.stringify(both))`) as [unknown, unknown][]
  for (const [file, modules] of text) expect(file).toEqual(modules)
  expect(hearth(['--version']).stdout).toMatch(/^\S+\/v\d+\.\d+\.\d+/)
})

it.skipIf(stale)('the installed command without ES modules is the same', () => {
  const installed = spawnSync(path.join(CLI, 'hearth.cjs'), ['--version'], { encoding: 'utf8' })
  expect([installed.status, installed.stdout, installed.stderr]).toEqual([0, hearth(['--version']).stdout, ''])
  const wrong = spawnSync(path.join(CLI, 'hearth.cjs'), ['nothing'], { encoding: 'utf8' })
  expect([wrong.status, wrong.stderr]).toEqual([2, hearth(['nothing']).stderr])
})

it.skipIf(stale)('prints version and commands without the program', () => {
  const copy = fs.mkdtempSync(path.join(ROOT, 'dist/.alone-'))
  try {
    const cli = path.join(copy, 'dist/cli')
    fs.mkdirSync(cli, { recursive: true })
    fs.copyFileSync(path.join(CLI, 'hearth.cjs'), path.join(cli, 'hearth.cjs'))
    fs.writeFileSync(path.join(copy, 'package.json'), '{"version":"7.8.9"}')
    const printed = (...args: string[]) => {
      const { status, stdout, stderr } = spawnSync(process.execPath, [path.join(cli, 'hearth.cjs'), ...args], { encoding: 'utf8' })
      return { status, stdout, stderr }
    }
    const version = `hearth/v7.8.9/${process.platform}-${process.arch}/node${process.versions.node}\n`
    expect(printed('--version')).toEqual({ status: 0, stdout: version, stderr: '' })
    const { stdout } = hearth(['--help'])
    expect(stdout).toMatch(/^usage: hearth COMMAND \[FLAGS\]\n/)
    expect(printed('--help')).toEqual({ status: 0, stdout, stderr: '' })
    expect(printed()).toEqual({ status: 2, stdout, stderr: '' })
    // Every other line needs the program, which is not there.
    expect(printed('dev', '--help').status).toBe(1)
  } finally {
    fs.rmSync(copy, { recursive: true, force: true })
  }
})

it.skipIf(stale)('serves a new chain before it loads what few starts need', async () => {
  const home = tempHome()
  const file = path.join(home, 'modules.json')
  const options = `${process.env.NODE_OPTIONS ?? ''} --require ${path.join(import.meta.dirname, 'loaded-modules.cjs')}`
  const node = await startNode(['dev'], { NODE_OPTIONS: options, LOADED_MODULES: file })
  const loaded = JSON.parse(fs.readFileSync(file, 'utf8')) as string[]
  expect(await node.stop()).toBe(0)
  fs.rmSync(home, { recursive: true, force: true })
  expect(loaded).toContain('NativeModule http')
  for (const name of ['crypto', 'v8', 'zlib', 'worker_threads', 'readline']) expect(loaded).not.toContain(`NativeModule ${name}`)
})

it.skipIf(stale)('starts where V8 refuses the code cache', () => {
  const copy = fs.mkdtempSync(path.join(ROOT, 'dist/.refused-'))
  try {
    for (const name of ['load.js', 'program.cjs']) fs.copyFileSync(path.join(CLI, name), path.join(copy, name))
    const cache = fs.readFileSync(path.join(CLI, `program-${process.versions.modules}.cache`))
    fs.writeFileSync(path.join(copy, `program-${process.versions.modules}.cache`), cache.fill(0, 0, 64))
    const url = JSON.stringify(pathToFileURL(path.join(copy, 'load.js')).href)
    const terminal = '{ out: (t) => console.log(t.trim()), err: console.error, write: async () => undefined, interactive: false }'
    const script = `const p = await (await import(${url})).loadProgram(); console.log(p.cached, await p.main(['--version'], ${terminal}))`
    const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
      encoding: 'utf8',
      env: { ...process.env, TMPDIR: copy },
    })
    expect([stderr, stdout]).toEqual(['', `${hearth(['--version']).stdout}false 0\n`])
    // Node's own cache takes its place where Node has one.
    const hasOwn = Number(process.versions.node.split('.')[0]) >= 22
    expect(fs.existsSync(path.join(copy, 'node-compile-cache'))).toBe(hasOwn)
  } finally {
    fs.rmSync(copy, { recursive: true, force: true })
  }
})
