// Keccak-256, with 64-bit lanes as pairs of 32-bit halves (low, high).
import { Bytes, Int32s } from './primordials.ts'

const RATE_BYTES = 136
const LANES = 25
const ROUNDS = 24

/**
 * Rotation of each lane on its way through rho and pi, and the place where it goes, in the order of
 * the walk from lane 1.
 */
function walk(): { ROTATIONS: readonly number[]; PLACES: readonly number[] } {
  const rotations: number[] = []
  const places: number[] = []
  let [x, y] = [1, 0]
  for (let t = 0; t < 24; t++) {
    ;[x, y] = [y, (2 * x + 3 * y) % 5]
    places[t] = x + 5 * y
    rotations[t] = (((t + 1) * (t + 2)) / 2) % 64
  }
  return { ROTATIONS: rotations, PLACES: places }
}

/**
 * Round constants as pairs of halves, from the linear feedback shift register of the specification.
 */
function iota(): readonly number[] {
  const constants: number[] = []
  let state = 1
  for (let round = 0; round < ROUNDS; round++) {
    const halves = [0, 0]
    for (let j = 0; j <= 6; j++) {
      if (state & 1) {
        const bit = (1 << j) - 1
        halves[bit >> 5] = (halves[bit >> 5] as number) ^ (1 << (bit & 31))
      }
      state = state & 0x80 ? (state << 1) ^ 0x171 : state << 1
    }
    constants[2 * round] = halves[0] as number
    constants[2 * round + 1] = halves[1] as number
  }
  return constants
}

/** Made for the first hash: most scripts need none. */
let tables: { ROTATIONS: readonly number[]; PLACES: readonly number[]; IOTA: readonly number[] } | undefined

type Lanes = Int32Array<ArrayBuffer>

function theta(s: Lanes, c: Lanes): void {
  for (let x = 0; x < 10; x++) {
    c[x] = (s[x] as number) ^ (s[x + 10] as number) ^ (s[x + 20] as number) ^ (s[x + 30] as number) ^ (s[x + 40] as number)
  }
  for (let x = 0; x < 5; x++) {
    const left = 2 * ((x + 4) % 5)
    const right = 2 * ((x + 1) % 5)
    const low = (c[left] as number) ^ (((c[right] as number) << 1) | ((c[right + 1] as number) >>> 31))
    const high = (c[left + 1] as number) ^ (((c[right + 1] as number) << 1) | ((c[right] as number) >>> 31))
    for (let y = 0; y < 50; y += 10) {
      s[2 * x + y] = (s[2 * x + y] as number) ^ low
      s[2 * x + y + 1] = (s[2 * x + y + 1] as number) ^ high
    }
  }
}

function rhoPi(s: Lanes, PLACES: readonly number[], ROTATIONS: readonly number[]): void {
  let low = s[2] as number
  let high = s[3] as number
  for (let t = 0; t < 24; t++) {
    const place = 2 * (PLACES[t] as number)
    const turn = ROTATIONS[t] as number
    const [a, b] = turn < 32 ? [low, high] : [high, low]
    const by = turn & 31
    const nextLow = s[place] as number
    const nextHigh = s[place + 1] as number
    s[place] = by === 0 ? a : (a << by) | (b >>> (32 - by))
    s[place + 1] = by === 0 ? b : (b << by) | (a >>> (32 - by))
    low = nextLow
    high = nextHigh
  }
}

function chi(s: Lanes, c: Lanes): void {
  for (let y = 0; y < 50; y += 10) {
    for (let i = 0; i < 10; i++) c[i] = s[y + i] as number
    for (let i = 0; i < 10; i++) s[y + i] = (c[i] as number) ^ (~(c[(i + 2) % 10] as number) & (c[(i + 4) % 10] as number))
  }
}

function permute(s: Lanes, c: Lanes): void {
  tables ??= { ...walk(), IOTA: iota() }
  const { PLACES, ROTATIONS, IOTA } = tables
  for (let round = 0; round < ROUNDS; round++) {
    theta(s, c)
    rhoPi(s, PLACES, ROTATIONS)
    chi(s, c)
    s[0] = (s[0] as number) ^ (IOTA[2 * round] as number)
    s[1] = (s[1] as number) ^ (IOTA[2 * round + 1] as number)
  }
}

/** The Keccak-256 hash of bytes. */
export function keccak256(data: Uint8Array): Uint8Array {
  const length = data.length
  const s = new Int32s(2 * LANES)
  const c = new Int32s(10)
  let at = 0
  const absorb = (byte: number) => {
    s[at >> 2] = (s[at >> 2] as number) ^ (byte << (8 * (at & 3)))
    at++
    if (at === RATE_BYTES) {
      permute(s, c)
      at = 0
    }
  }
  for (let i = 0; i < length; i++) absorb(data[i] as number)
  s[at >> 2] = (s[at >> 2] as number) ^ (1 << (8 * (at & 3)))
  s[(RATE_BYTES - 1) >> 2] = (s[(RATE_BYTES - 1) >> 2] as number) ^ (0x80 << 24)
  permute(s, c)
  const hash = new Bytes(32)
  for (let i = 0; i < 32; i++) hash[i] = (s[i >> 2] as number) >>> (8 * (i & 3))
  return hash
}
