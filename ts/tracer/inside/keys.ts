// Numbers for keys of a few 32-bit words, without making a text or an object a look-up.
import { Int32s, imul } from './primordials.ts'

const FIRST_SLOTS = 16
const FIRST_KEYS = 8

/** A set of keys, each `words` 32-bit words long, numbered in the order in which they came. */
export class Keys {
  count = 0
  /** The keys, one after the other. */
  kept: Int32Array
  private readonly words: number
  /** Open addressing: number of the key plus one; 0 is free. */
  private slots = new Int32s(FIRST_SLOTS)
  private mask = FIRST_SLOTS - 1
  private room = FIRST_KEYS
  /** The number of the last call: it is often that of the next call too. */
  private last = 0

  constructor(words: number) {
    this.words = words
    this.kept = new Int32s(FIRST_KEYS * words)
  }

  /** Number of the key in `key` from 0 on, which it gets where it is new. */
  number(key: Int32Array): number {
    const { words, mask, slots, kept, last } = this
    let same = 0
    while (same < words && kept[last * words + same] === key[same]) same++
    if (same === words && this.count > 0) return last
    let slot = this.hash(key, 0) & mask
    for (let found = slots[slot] as number; found !== 0; found = slots[slot] as number) {
      const at = (found - 1) * words
      let i = 0
      while (i < words && kept[at + i] === key[i]) i++
      if (i === words) {
        this.last = found - 1
        return found - 1
      }
      slot = (slot + 1) & mask
    }
    return this.add(key, slot)
  }

  private hash(key: Int32Array, at: number): number {
    let hash = 0
    for (let i = 0; i < this.words; i++) {
      hash = imul(hash ^ (key[at + i] as number), 0x9e3779b1)
      hash ^= hash >>> 15
    }
    return hash
  }

  private add(key: Int32Array, slot: number): number {
    const number = this.count++
    if (this.count > this.room) this.grow()
    for (let i = 0; i < this.words; i++) this.kept[number * this.words + i] = key[i] as number
    if (this.count * 2 > this.mask) this.rehash()
    else this.slots[slot] = number + 1
    return number
  }

  private grow(): void {
    this.room *= 2
    const larger = new Int32s(this.room * this.words)
    const used = (this.count - 1) * this.words
    for (let i = 0; i < used; i++) larger[i] = this.kept[i] as number
    this.kept = larger
  }

  private rehash(): void {
    this.mask = this.mask * 2 + 1
    this.slots = new Int32s(this.mask + 1)
    for (let number = 0; number < this.count; number++) {
      let slot = this.hash(this.kept, number * this.words) & this.mask
      while (this.slots[slot] !== 0) slot = (slot + 1) & this.mask
      this.slots[slot] = number + 1
    }
  }
}
