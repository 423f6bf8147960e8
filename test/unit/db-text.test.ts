// How hearth db shows sizes, columns and progress.
import { describe, expect, it } from 'vitest'
import { bytesLine } from '../../ts/cli/commands/db/task.ts'
import { bytesText, columns, pairs } from '../../ts/cli/commands/db/text.ts'
import { checksText } from '../../ts/cli/commands/import.ts'

describe('the texts of hearth db', () => {
  it('sizes are in the unit that reads best', () => {
    const sizes = [0, 1023, 1024, 1536, 5 * 1024 ** 2, 3.25 * 1024 ** 3, 2048 * 1024 ** 4]
    expect(sizes.map(bytesText)).toEqual(['0 B', '1023 B', '1.0 KiB', '1.5 KiB', '5.0 MiB', '3.3 GiB', '2048.0 TiB'])
  })

  it('columns line up: the first to the left, the rest right', () => {
    const rows = [
      ['blocks', 7, '1.0 KiB'],
      ['b', 12_345, '0 B'],
    ] as const
    expect(columns(['table', 'keys', 'size'], rows)).toBe('table    keys     size\nblocks      7  1.0 KiB\nb       12345      0 B\n')
    expect(columns(['table'], [])).toBe('table\n')
    expect(
      pairs([
        ['floor', 7],
        ['a longer one', 'x'],
      ]),
    ).toBe('floor         7\na longer one  x\n')
  })

  it('progress is in bytes', () => {
    const progress = { blocks: 0, gas: 0, done: 512 * 1024, total: 2 * 1024 ** 2, height: null }
    expect(bytesLine(progress, 1000, false)).toBe('25.0 %, 512.0 KiB of 2.0 MiB, 512.0 KiB/s, 3s left')
    expect(bytesLine({ ...progress, done: 2 * 1024 ** 2 }, 4000, true)).toBe(`[${'#'.repeat(24)}] 100.0 %, 2.0 MiB of 2.0 MiB, 512.0 KiB/s`)
  })
})

describe('what was checked of a recorded block', () => {
  it('is said, with what the recording does not allow', () => {
    expect(
      checksText(['header fields against the parent: there is no parent header', 'state root of the block: there are no trie nodes']),
    ).toBe(
      [
        'verified: the block was executed, and everything that the recording allows to check agrees with its header',
        'not checked: header fields against the parent (there is no parent header)',
        'not checked: state root of the block (there are no trie nodes)',
        '',
      ].join('\n'),
    )
    expect(checksText([])).toBe('')
  })
})
