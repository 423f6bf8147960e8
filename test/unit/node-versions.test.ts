// Versions of Node that get no more fixes.
import { expect, test } from 'vitest'
import { ENGINES } from '../../native/setup/isolated-vm.mjs'
import { NODE_ENDS, nodeEnded } from '../../ts/cli/node-versions.ts'

const on = (day: string): Date => new Date(`${day}T12:00:00Z`)

test('a version is past its end from the day after it', () => {
  expect(nodeEnded('20.20.2', on('2026-04-30'))).toBeUndefined()
  expect(nodeEnded('20.20.2', on('2026-05-01'))).toBe('2026-04-30')
  expect(nodeEnded('24.0.0', on('2027-01-01'))).toBeUndefined()
  expect(nodeEnded('99.0.0', on('2099-01-01'))).toBeUndefined()
})

test('each supported version has a date, and one text', () => {
  for (const major of Object.keys(ENGINES)) expect(NODE_ENDS[Number(major)], major).toBeDefined()
  for (const [major, end] of Object.entries(NODE_ENDS)) expect(new Date(end).toISOString().slice(0, 10), major).toBe(end)
})
