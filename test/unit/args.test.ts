// The command line: flags of a command, names of other programs, settings, files.
import { describe, expect, it } from 'vitest'
import { type CommandShape, parseArgs } from '../../ts/cli/args.ts'

const SHAPE: CommandShape = {
  flags: {
    home: { value: 'DIR', doc: '' },
    mnemonic: { value: 'WORDS', doc: '' },
    verbose: { doc: '' },
    gas: { choices: ['line'], doc: '' },
    set: { value: 'KEY=VALUE', many: true, doc: '' },
    port: { value: 'PORT', settings: ['evm.http_port'], doc: '' },
  },
  files: { name: 'FILE', min: 0, max: 2 },
}

function read(...args: string[]) {
  const { flags, lists, settings, files } = parseArgs(args, SHAPE)
  return { ...Object.fromEntries(flags), ...Object.fromEntries(lists), ...Object.fromEntries(settings), files }
}

const refused = (...args: string[]): string => {
  try {
    return JSON.stringify(read(...args))
  } catch (e) {
    return (e as Error).message
  }
}

describe('a command line', () => {
  it.each([
    [['--home', 'x', 'a'], { home: 'x', files: ['a'] }],
    [['--home=', 'a'], { home: '', files: ['a'] }],
    [['--home=a=b'], { home: 'a=b', files: [] }],
    [['--datadir', 'x'], { home: 'x', files: [] }],
    [['--mnemonic', '-v'], { mnemonic: '-v', files: [] }],
    [['--mnemonic', '--', 'a'], { mnemonic: '--', files: ['a'] }],
    [['-m', '--verbose', '-v'], { mnemonic: '--verbose', verbose: 'true', files: [] }],
    [['-vvv', '-'], { verbose: 'true', files: ['-'] }],
    [['--', '-v', '--home'], { files: ['-v', '--home'] }],
    [['--gas=line'], { gas: 'line', files: [] }],
    [['--gas', 'line'], { gas: 'true', files: ['line'] }],
    [['--set', 'a=1', '--set=b=2'], { set: ['a=1', 'b=2'], files: [] }],
    [['-p=7'], { port: '7', 'evm.http_port': '7', files: [] }],
    [['--evm.http_port=1', '--evm.http_port', '2'], { 'evm.http_port': '2', files: [] }],
    [['--evm.trace_bake_enabled', 'true', 'a'], { 'evm.trace_bake_enabled': 'true', files: ['a'] }],
    [['--evm.trace_bake_enabled', 'a'], { 'evm.trace_bake_enabled': 'true', files: ['a'] }],
    [['--evm.trace_bake_enabled=false', 'true'], { 'evm.trace_bake_enabled': 'false', files: ['true'] }],
    [['--evm.trace_bake_enabled', '--', 'false'], { 'evm.trace_bake_enabled': 'true', files: ['false'] }],
  ])('%j', (args, expected) => {
    expect(read(...args)).toEqual(expected)
  })

  it.each([
    [['-x'], /^unknown flag -x; /],
    [['-xyz'], /^unknown flag -xyz; /],
    [['--hmoe', 'x'], /^unknown flag --hmoe; did you mean --home\?/],
    [['--__proto__'], /^unknown flag --__proto__; /],
    [['--=x'], /^unknown flag --; /],
    [['--syncmode=full'], /^--syncmode is no flag of hearth: /],
    [['--home'], /^--home needs a value: --home DIR$/],
    [['--evm.http_port'], /^--evm.http_port needs a value$/],
    [['--home', 'a', '--datadir', 'b'], /^--home is given twice$/],
    [['--verbose=yes'], /^--verbose takes no value$/],
    [['--gas=opcodes'], /^--gas stands alone or is --gas=line$/],
    [['--port', '1', '--http.port', '2'], /^--port and --http.port are the same setting: give one of them$/],
    [['--evm.http_port', '1', '--port', '2'], /^--port and --evm.http_port are the same setting: give one of them$/],
    [['a', 'b', 'c'], /^unexpected argument "c"$/],
  ])('%j is refused', (args, message) => {
    expect(refused(...args)).toMatch(message)
  })
})
