// What is printed without the program: the version and the list of commands.
import { describe, expect, it } from 'vitest'
import { brief } from '../../ts/cli/brief.ts'
import { COMMAND_DOCS } from '../../ts/cli/command-docs.ts'
import { COMMANDS } from '../../ts/cli/run.ts'

describe('what is printed without the program', () => {
  it('is the version, by each of its words', () => {
    const text = `hearth/v0.1.0/${process.platform}-${process.arch}/node${process.versions.node}\n`
    for (const argv of [['--version'], ['-v'], ['version'], ['version', 'dev']]) expect(brief(argv)).toEqual({ text, code: 0 })
  })

  it('is the list of commands, and of no other', () => {
    const [usage, , heading, ...rest] = brief(['--help'])?.text.split('\n') ?? []
    expect([usage, heading]).toEqual(['usage: hearth COMMAND [FLAGS]', 'commands:'])
    const named = rest.flatMap((line) => /^ {2}(\w+) +\S/.exec(line)?.[1] ?? [])
    expect(named).toEqual(COMMANDS.map(({ name }) => name))
    expect(rest.at(-2)).toBe('hearth COMMAND --help prints the flags of a command; hearth config list prints every setting.')
    for (const argv of [['-h'], ['help']]) expect(brief(argv)).toEqual(brief(['--help']))
    expect(brief([])).toEqual({ text: brief(['--help'])?.text, code: 2 })
  })

  it('has the line of each command, in its order', () => {
    expect(COMMANDS.map(({ name, doc }) => [name, doc])).toEqual(Object.entries(COMMAND_DOCS))
  })

  it('is nothing of a command, nor of flags before one', () => {
    for (const argv of [['dev'], ['dev', '--help'], ['help', 'dev'], ['--home', 'x'], ['--help', 'dev'], ['--home=x', '--help']])
      expect([argv, brief(argv)]).toEqual([argv, undefined])
  })
})
