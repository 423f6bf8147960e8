// The position of each key of a TOML document. smol-toml returns values without positions. It has
// parsed the document before, so the document is well formed, and only names, brackets and strings
// have to be recognised here.

/** A place in a text; both count from 1. */
export interface Place {
  readonly line: number
  readonly column: number
  /** Last line of the value; that of the key for a section. */
  readonly lastLine: number
}

/** Bare keys, quoted keys and the dots between them, from the text's current place. */
const KEY = /[ \t]*(?:"((?:[^"\\\n]|\\.)*)"|'([^'\n]*)'|([A-Za-z0-9_-]+))[ \t]*(\.)?/y
/** Strings of all four forms, and comments: what may hold brackets that are none. */
const OPAQUE = /"""(?:[^\\]|\\[\s\S])*?"{3,5}|'''[\s\S]*?'{3,5}|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|#[^\n]*/y

class Scanner {
  readonly keys = new Map<string, Place>()
  private at = 0
  private readonly text: string

  constructor(text: string) {
    this.text = text
  }

  scan(): ReadonlyMap<string, Place> {
    let section = ''
    while (this.skipTo(/[\s\uFEFF]*/y) !== undefined) {
      if (this.text[this.at] === '#') {
        this.skip(/[^\n]*/y)
      } else if (this.text[this.at] === '[') {
        this.skip(/\[+/y)
        section = this.key('')
        this.skip(/[ \t]*\]+/y)
      } else {
        const before = this.at
        this.assignment(section)
        if (this.at === before) break
      }
    }
    return this.keys
  }

  /** Passes what fits and gives the character behind it; undefined at the end. */
  private skipTo(pattern: RegExp): string | undefined {
    this.skip(pattern)
    return this.text[this.at]
  }

  private skip(pattern: RegExp): boolean {
    pattern.lastIndex = this.at
    const found = pattern.exec(this.text)
    if (found !== null) this.at += found[0].length
    return found !== null && found[0] !== ''
  }

  /** Reads a key, dots and all, and notes where it begins. */
  private key(prefix: string): string {
    this.skip(/[ \t]*/y)
    const begin = this.at
    let path = prefix
    for (let more = true; more; ) {
      KEY.lastIndex = this.at
      const found = KEY.exec(this.text)
      if (found === null) break
      this.at = KEY.lastIndex
      const name = found[1] ?? found[2] ?? found[3] ?? ''
      path = path === '' ? name : `${path}.${name}`
      more = found[4] !== undefined
    }
    if (!this.keys.has(path)) this.keys.set(path, this.place(begin))
    return path
  }

  private assignment(prefix: string): void {
    const path = this.key(prefix)
    this.skip(/[ \t]*=[ \t]*/y)
    if (this.text[this.at] === '{') this.inlineTable(path)
    else this.value(/[^\n"'#[\]{},]+/y, '\n')
    const place = this.keys.get(path)
    if (place !== undefined) this.keys.set(path, { ...place, lastLine: this.place(this.at).line })
  }

  private inlineTable(prefix: string): void {
    this.at++
    for (let c = this.skipTo(/[\s,]*/y); c !== undefined && c !== '}'; c = this.skipTo(/[\s,]*/y)) {
      const before = this.at
      const path = this.key(prefix)
      this.skip(/[ \t]*=[ \t]*/y)
      if (this.text[this.at] === '{') this.inlineTable(path)
      else this.value(/[^\n"'#[\]{},]+/y, ',}')
      if (this.at === before) return
    }
    this.at++
  }

  /** Passes a value: to one of `ends` outside of all brackets. */
  private value(plain: RegExp, ends: string): void {
    let depth = 0
    while (this.at < this.text.length) {
      const c = this.text[this.at] as string
      if (depth === 0 && ends.includes(c)) return
      if (this.skip(OPAQUE) || this.skip(plain)) continue
      if (c === '[' || c === '{') depth++
      else if (c === ']' || c === '}') depth--
      this.at++
    }
  }

  private place(offset: number): Place {
    const before = this.text.slice(0, offset)
    const line = before.split('\n').length
    return { line, column: offset - before.lastIndexOf('\n'), lastLine: line }
  }
}

/** The place of every key and section of a well formed TOML document, by dotted path. */
export const keyPlaces = (text: string): ReadonlyMap<string, Place> => new Scanner(text).scan()
