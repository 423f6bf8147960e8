// The assembler of the demo, and bytes that are known.
import { describe, expect, it } from 'vitest'
import { assemble } from '../../ts/dev/demo/assembler.ts'

const hex = (...given: Parameters<typeof assemble>): string => Buffer.from(assemble(...given)).toString('hex')

describe('the assembler', () => {
  it('pushes numbers in as few bytes as they take', () => {
    expect(hex('0 1 0xff 256 0x010000')).toBe('5f600160ff61010062010000')
    expect(hex(`0x${'ff'.repeat(32)}`)).toBe(`7f${'ff'.repeat(32)}`)
    expect(() => assemble(`0x1${'00'.repeat(32)}`)).toThrow('does not fit into 32 bytes')
  })

  it('puts places in, forward and backward', () => {
    expect(hex('again: @end JUMPI @again JUMP end: STOP')).toBe('5b61000957610000565b00')
    expect(() => assemble('@nowhere JUMP')).toThrow('no place is called nowhere')
  })

  it('puts parts behind the code, and knows their length and place', () => {
    const parts = { runtime: Uint8Array.of(0xaa, 0xbb) }
    expect(hex('!runtime DUP1 &runtime 0 CODECOPY 0 RETURN', { parts })).toBe('600280' + '61000a' + '5f39' + '5ff3' + 'aabb')
  })

  it('takes constants and comments, and refuses unknown words', () => {
    expect(hex('#two ADD ; adds\nDUP16 SWAP1', { constants: { two: 2n } })).toBe('6002018f90')
    expect(() => assemble('#three')).toThrow('#three is not given')
    expect(() => assemble('NOSUCH')).toThrow('"NOSUCH" is no instruction')
    expect(() => assemble('DUP17')).toThrow('"DUP17" is no instruction')
  })
})
