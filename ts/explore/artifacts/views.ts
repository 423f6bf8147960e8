// The lines of a contract's code: what a stepper shows of a program counter, and gas by line.
import type { Match } from './match.ts'
import { type FindSource, sourcesOf } from './set.ts'
import { Lines, type MapEntry, type Place, SourceMap } from './source-map.ts'
import type { Contract } from './types.ts'

/** A source of a contract as it is sent to the page. */
export type SourceFile =
  | { readonly id: number; readonly path: string; readonly text: string }
  | { readonly id: number; readonly path: string; readonly problem: string }

/** Everything that lines of a contract need. */
export interface SourceAnswer {
  readonly name: string
  readonly runtime?: { readonly hex: string; readonly map: string }
  readonly creation?: { readonly hex: string; readonly map: string }
  readonly files: readonly SourceFile[]
}

/** A contract as it is sent to the page. */
export interface ContractAnswer {
  /** By which its lines are requested. */
  readonly id: string
  readonly name: string
  readonly source: string
  readonly how: Match['how']
  readonly signatures: readonly string[]
  /** The layout as the compiler's JSON has it. */
  readonly layout?: unknown
}

/** Characters of sources that are sent of one contract. */
const TEXTS_MAX = 8 * 1024 * 1024

/** The lines of a contract. */
export function sourceAnswer(contract: Contract, find: FindSource): SourceAnswer {
  const { name, runtime, creation } = contract
  const part = (code: Contract['runtime']): { hex: string; map: string } | undefined =>
    code?.sourceMap === undefined || code.sourceMap === '' ? undefined : { hex: code.hex, map: code.sourceMap }
  const [run, make] = [part(runtime), part(creation)]
  const ids = new Set([run, make].flatMap((one) => (one === undefined ? [] : new SourceMap(one.map, one.hex).files())))
  let room = TEXTS_MAX
  const files = sourcesOf(contract, [...ids], find).map(({ id, path, source }): SourceFile => {
    if ('problem' in source) return { id, path, problem: source.problem }
    room -= source.text.length
    return room < 0
      ? { id, path, problem: `the sources have more than ${TEXTS_MAX / 1024 / 1024} Mi characters` }
      : { id, path, text: source.text }
  })
  return { name, ...(run === undefined ? {} : { runtime: run }), ...(make === undefined ? {} : { creation: make }), files }
}

/** A line of a source. */
export interface Line {
  readonly path: string
  /** From 1 on. */
  readonly line: number
  readonly from: Place
  readonly to: Place
  /** Into a function, out of one, or neither. */
  readonly jump: string
}

/** Code of a contract, or the code that makes it. */
export type Part = 'runtime' | 'creation'

/** Program counters of a contract as lines. */
export class SourceLines {
  readonly name: string
  readonly files: readonly SourceFile[]
  private readonly maps: ReadonlyMap<Part, SourceMap>
  private readonly lines = new Map<number, Lines>()
  private readonly byId: ReadonlyMap<number, SourceFile>

  constructor({ name, runtime, creation, files }: SourceAnswer) {
    this.name = name
    this.files = files
    this.byId = new Map(files.map((file) => [file.id, file]))
    const maps = new Map<Part, SourceMap>()
    if (runtime !== undefined) maps.set('runtime', new SourceMap(runtime.map, runtime.hex))
    if (creation !== undefined) maps.set('creation', new SourceMap(creation.map, creation.hex))
    this.maps = maps
  }

  /**
   * The line of an instruction; undefined for code of the compiler, and where the source is not
   * there.
   */
  at(part: Part, pc: number): Line | undefined {
    const entry = this.maps.get(part)?.at(pc)
    return entry === undefined ? undefined : this.lineOf(entry)
  }

  /** The text of a source by its path, in lines. */
  textOf(path: string): readonly string[] | undefined {
    const file = this.files.find((one) => one.path === path)
    return file === undefined ? undefined : this.linesOf(file)?.texts
  }

  /** Why an instruction has no line; undefined for code of the compiler. */
  problemAt(part: Part, pc: number): string | undefined {
    const map = this.maps.get(part)
    if (map === undefined) return 'the artifact has no source map for this code'
    const file = this.byId.get(map.at(pc)?.file ?? -1)
    return file !== undefined && 'problem' in file ? `${file.path}: ${file.problem}` : undefined
  }

  /** Program counters of jumps into functions and out of them. */
  jumps(part: Part): { readonly in: readonly number[]; readonly out: readonly number[] } {
    const map = this.maps.get(part)
    return { in: map?.jumps('i') ?? [], out: map?.jumps('o') ?? [] }
  }

  /**
   * The function whose code begins at a program counter, by what its source says there; undefined
   * for code of the compiler.
   */
  functionAt(part: Part, pc: number): string | undefined {
    const line = this.at(part, pc)
    if (line === undefined) return undefined
    const text = this.textOf(line.path)?.[line.line - 1]?.slice(line.from.column - 1) ?? ''
    const [, kind, name] = /^(function|modifier|constructor|receive|fallback)\b\s*([\w$]*)/.exec(text) ?? []
    return kind === undefined ? `${line.path}:${line.line}` : name || kind
  }

  private linesOf(file: SourceFile): Lines | undefined {
    if (!('text' in file)) return undefined
    const known = this.lines.get(file.id) ?? new Lines(file.text)
    this.lines.set(file.id, known)
    return known
  }

  private lineOf({ start, length, file: id, jump }: MapEntry): Line | undefined {
    const file = this.byId.get(id)
    const lines = file === undefined ? undefined : this.linesOf(file)
    const end = Math.min(lines?.length ?? 0, start + Math.max(0, length))
    const [from, to] = [lines?.at(start), lines?.at(end)]
    if (file === undefined || from === undefined || to === undefined) return undefined
    return { path: file.path, line: from.line, from, to, jump }
  }
}

/** A row of debug_traceGasProfile by program counter. */
export type PcRow = readonly [code: number, pc: number, op: string, count: number, gas: number]

/** A code of debug_traceGasProfile. */
export interface ProfiledCode {
  readonly hash: string
  readonly init: boolean
  readonly addresses: readonly string[]
}

/** Gas and steps of a line. */
export interface LineGas {
  readonly path: string
  readonly line: number
  readonly gas: number
  readonly steps: number
}

/** Gas by line, and what has none. */
export interface GasByLine {
  /** The most gas first. */
  readonly lines: readonly LineGas[]
  /** Gas and steps of code without a line: of the compiler, of contracts without an artifact. */
  readonly none: { readonly gas: number; readonly steps: number }
}

/**
 * Adds up own gas of steps by line. `of` gives the lines of a code, undefined where it has none.
 */
export function gasByLine(
  rows: readonly PcRow[],
  codes: readonly ProfiledCode[],
  of: (code: ProfiledCode) => SourceLines | undefined,
): GasByLine {
  const known = codes.map((code) => of(code))
  const sums = new Map<string, { path: string; line: number; gas: number; steps: number }>()
  const none = { gas: 0, steps: 0 }
  for (const [code, pc, , steps, gas] of rows) {
    const line = known[code]?.at(codes[code]?.init === true ? 'creation' : 'runtime', pc)
    const key = line === undefined ? '' : `${line.line} ${line.path}`
    const sum = line === undefined ? none : (sums.get(key) ?? { path: line.path, line: line.line, gas: 0, steps: 0 })
    sum.gas += gas
    sum.steps += steps
    if (line !== undefined) sums.set(key, sum as LineGas & { gas: number; steps: number })
  }
  return { lines: [...sums.values()].sort((a, b) => b.gas - a.gas), none }
}
