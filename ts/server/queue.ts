// A queue whose cost per element does not depend on how many wait: Array.shift moves every element
// of a long array.

/** Free places at the front before the rest is moved there. */
const GAP_MIN = 64

/** First in, first out. */
export class Queue<T> {
  private items: (T | undefined)[] = []
  /** Where the first element is. */
  private head = 0

  get length(): number {
    return this.items.length - this.head
  }

  /** The first element, which stays. */
  get first(): T | undefined {
    return this.items[this.head]
  }

  push(item: T): void {
    this.items.push(item)
  }

  /** Takes the first element. */
  shift(): T | undefined {
    if (this.length === 0) return undefined
    const item = this.items[this.head]
    this.items[this.head++] = undefined
    // Each element is moved at most once for each that was taken.
    if (this.head >= GAP_MIN && this.head * 2 >= this.items.length) {
      this.items = this.items.slice(this.head)
      this.head = 0
    }
    return item
  }

  clear(): void {
    this.items = []
    this.head = 0
  }
}
