// Codes of Solidity's Panic(uint256) in words.

/** What the codes mean (Solidity documentation, "Panic via assert and Error via require"). */
const PANICS: ReadonlyMap<bigint, string> = new Map([
  [0x00n, 'a panic of the compiler'],
  [0x01n, 'assertion failed'],
  [0x11n, 'arithmetic overflow or underflow'],
  [0x12n, 'division or modulo by zero'],
  [0x21n, 'conversion to an enum that has no such value'],
  [0x22n, 'a byte array in storage that is encoded wrongly'],
  [0x31n, 'pop on an empty array'],
  [0x32n, 'array index out of bounds'],
  [0x41n, 'too much memory allocated'],
  [0x51n, 'call of an internal function that was never set'],
])

/** A panic with its code and the meaning of that. */
export const panicText = (code: bigint): string =>
  `panic 0x${code.toString(16).padStart(2, '0')}: ${PANICS.get(code) ?? 'a code without a meaning'}`
