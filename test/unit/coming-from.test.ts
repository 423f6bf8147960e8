// docs/coming-from-geth.md and docs/coming-from-anvil.md: flags, commands and methods in them are
// the program's.
import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { DEV_FLAGS } from '../../ts/cli/dev/flags.ts'
import { COMMANDS } from '../../ts/cli/run.ts'
import { answerToFlag, SAME_FLAGS, SHORT_FLAGS } from '../../ts/cli/words.ts'
import { isSettingKey, settingOf } from '../../ts/config/index.ts'
import { isMethod } from '../../ts/rpc/table.ts'

const DOCS = path.resolve(import.meta.dirname, '../../docs')
const pages = ['coming-from-geth.md', 'coming-from-anvil.md'].map((name) => ({
  name,
  text: fs.readFileSync(path.join(DOCS, name), 'utf8'),
}))
const both = pages.map(({ text }) => text).join('\n')

/** The code spans of the cells of each row. */
const rows = (text: string): string[][][] =>
  text
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) =>
      line
        .replaceAll(/^\| | \|$/g, '')
        .split(' | ')
        .map((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code)),
    )

const sameFlag = (theirs: string): string | undefined =>
  theirs.startsWith('--') ? SAME_FLAGS[theirs.slice(2)] : SHORT_FLAGS[theirs.slice(1)]
const isFlag = (flag: string): boolean => isSettingKey(flag) || Object.hasOwn(DEV_FLAGS, flag)

describe.each(pages)('$name', ({ text }) => {
  const flags = rows(text).filter(([theirs = []]) => theirs.every((word) => word.startsWith('-')))
  it('has flags that mean what the program takes them for', () => {
    const wrong = flags.flatMap(([theirs = [], ours = []]) =>
      theirs.filter((flag) => {
        const same = sameFlag(flag)
        return same === undefined ? answerToFlag(flag.slice(2)) === undefined : ours[0] !== `--${same}`
      }),
    )
    expect(flags.length).toBeGreaterThan(20)
    expect(wrong).toEqual([])
  })

  it('names flags and settings of this program that exist', () => {
    const named = [...text.matchAll(/`(?:--)?((?:evm|dev|state-commit|txpool|metrics|log|engine)\.[\w.-]+)/g)].map(([, key = '']) => key)
    expect(named.length).toBeGreaterThan(3)
    expect(named.filter((key) => !isSettingKey(key) && SAME_FLAGS[key] === undefined && answerToFlag(key) === undefined)).toEqual([])
    const listed = /under the same name: ([^.]+)\./.exec(text)?.[1] ?? ''
    expect([...listed.matchAll(/`--([\w-]+)`/g)].filter(([, flag = '']) => !isFlag(flag))).toEqual([])
  })
})

it('the section on Hardhat has flags of hearth dev', () => {
  const section = both.split(/^## /m).find((text) => text.startsWith('Hardhat\n')) ?? ''
  const named = [...section.matchAll(/`(?:hearth dev )?--([\w-]+)(?: \w+)?`/g)].map(([, flag = '']) => flag)
  expect(named).toEqual(['throw-on-revert', 'accounts', 'gas-limit', 'disable-code-size-limit', 'hardfork'])
  expect(named.filter((flag) => !Object.hasOwn(DEV_FLAGS, flag))).toEqual([])
  expect(DEV_FLAGS['throw-on-revert']?.settings).toEqual(['dev.throw_on_revert'])
  expect(settingOf('dev.throw_on_revert').default).toBe(false)
})

it('every flag with an equal is on one of the pages', () => {
  const missing = Object.keys(SAME_FLAGS).filter((flag) => !both.includes(`\`--${flag}\``))
  // Flags of reth alone.
  expect(missing.filter((flag) => !/^rpc\.max-/.test(flag))).toEqual([])
})

it('commands exist', () => {
  const names = new Set(
    COMMANDS.flatMap((c) => ('commands' in c ? [c.name, ...c.commands.map((sub) => `${c.name} ${sub.name}`)] : [c.name])),
  )
  const used = [...both.matchAll(/`hearth ((?:db |config )?[a-z]+)/g)].map(([, command = '']) => command)
  expect(used.filter((command) => !names.has(command) && !names.has(command.split(' ')[0] ?? ''))).toEqual([])
  expect(used.length).toBeGreaterThan(10)
})

it('methods exist, or do not, as the pages say', () => {
  const absent = both.split('\n').flatMap((line, i, lines) => {
    const table = lines.slice(0, i).lastIndexOf('These methods of geth do not exist in Hearth:')
    const isRow = table >= 0 && line.startsWith('| `') && !lines.slice(table, i).some((text) => text.startsWith('## '))
    return isRow ? [...(line.split(' | ')[0] ?? '').matchAll(/`([a-z]+_\w+)`/g)].map(([, name = '']) => name) : []
  })
  const lacking = /Hearth lacks([^.]+)\./.exec(both)?.[1] ?? ''
  absent.push(...[...lacking.matchAll(/`([a-z]+_\w+)`/g)].map(([, name = '']) => name))
  expect(absent.length).toBeGreaterThan(15)
  expect(absent.filter(isMethod)).toEqual([])
  const named = [...both.matchAll(/`([a-z0-9]+_[A-Za-z]\w+)`/g)].map(([, name = '']) => name)
  expect([...new Set(named)].filter((name) => !isMethod(name) && !absent.includes(name) && name !== 'state_history_blocks')).toEqual([])
})
