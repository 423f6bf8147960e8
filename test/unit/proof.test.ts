import { expect, it } from 'vitest'
import { asked } from './requested.ts'

const A = `0x${'aa'.repeat(20)}`
const word = (last: string): string => `0x${last.padStart(64, '0')}`

it('eth_getProof names keys as requested, short ones by number', async () => {
  const keys = ['0x', '1', '0xABC', word('21'), word('21').slice(3)]
  expect(await asked('eth_getProof', A, keys, '0x7')).toEqual({
    address: A,
    block: '0x7',
    slots: [
      { slot: word(''), whole: false },
      { slot: word('1'), whole: false },
      { slot: word('ABC'), whole: false },
      { slot: word('21'), whole: true },
      { slot: word('21'), whole: true },
    ],
  })
})

it('eth_getProof refuses what is no key, and too many of them', async () => {
  const refused = async (keys: unknown): Promise<string> => ((await asked('eth_getProof', A, keys, 'latest')) as [number, string])[1]
  expect(await refused(['0xzz'])).toContain('invalid hex in storage key: "0xzz"')
  expect(await refused([`${word('1')}0`])).toContain('storage key too long (want at most 32 bytes)')
  expect(await refused([1])).toContain('cannot use number as a storage key')
  expect(await refused(Array(10_001).fill('0x0'))).toContain('too many values: 10001, want at most 10000')
  expect(await asked('eth_getProof', A)).toEqual([-32602, 'missing value for required argument 1'])
})
