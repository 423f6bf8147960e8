// Prompts at the terminal.
import { PassThrough } from 'node:stream'
import { expect, it } from 'vitest'
import { askIn } from '../../ts/cli/ask.ts'

const answered = (text: string): Promise<boolean> => {
  const input = new PassThrough()
  input.end(text)
  return askIn('Roll back? [y/N] ', input, new PassThrough())
}

it.each(['y\n', 'Yes\n', ' y \n'])('%j is a yes', async (text) => {
  expect(await answered(text)).toBe(true)
})

it.each(['\n', 'n\n', 'yesterday\n', ''])('%j is a no', async (text) => {
  expect(await answered(text)).toBe(false)
})
