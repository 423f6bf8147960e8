// Reads a scrape page strictly: what a Prometheus server would refuse or misread is an error here.

/** A family of samples under one HELP and TYPE. */
export interface Family {
  readonly name: string
  readonly type: string
  readonly help: string
  readonly unit: string | undefined
  /** Values by sample name with its labels, as the page has them. */
  readonly samples: Map<string, number>
}

/** A page by family name. */
export type Scrape = ReadonlyMap<string, Family>

/** Suffixes that samples of a type have behind the name of their family. */
const SUFFIXES: Readonly<Record<string, readonly string[]>> = {
  counter: [''],
  gauge: [''],
  unknown: [''],
  histogram: ['_bucket', '_sum', '_count'],
  summary: ['', '_sum', '_count'],
}

const LINE = /^([a-zA-Z_][a-zA-Z0-9_]*)(\{(?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\"n])*"(?:,(?!\})|(?=\})))*\})? (\S+)$/

const fail = (line: string, why: string): never => {
  throw new Error(`${why}: ${line}`)
}

function value(text: string, line: string): number {
  const special = { NaN: Number.NaN, '+Inf': Number.POSITIVE_INFINITY, '-Inf': Number.NEGATIVE_INFINITY }[text]
  if (special !== undefined) return special
  return /^-?\d+(\.\d+)?(e[+-]?\d+)?$/.test(text) ? Number(text) : fail(line, 'no number')
}

/** Cumulative counts that do not fall, up to +Inf, which is the count; a sum beside them. */
function checkHistogram(family: Family): void {
  const series = new Map<string, { last: number; le: number; inf: number | undefined }>()
  for (const [sample, count] of family.samples) {
    const bucket = /^[^{]*_bucket\{(.*?),?le="([^"]+)"\}$/.exec(sample)
    if (bucket === null) continue
    const [, labels = '', bound = ''] = bucket
    const le = bound === '+Inf' ? Number.POSITIVE_INFINITY : Number(bound)
    const before = series.get(labels) ?? { last: 0, le: Number.NEGATIVE_INFINITY, inf: undefined }
    if (count < before.last || !(le > before.le)) fail(sample, 'buckets out of order')
    series.set(labels, { last: count, le, inf: bound === '+Inf' ? count : before.inf })
  }
  for (const [labels, { inf }] of series) {
    const braced = labels === '' ? '' : `{${labels}}`
    if (inf === undefined || family.samples.get(`${family.name}_count${braced}`) !== inf) fail(`${family.name}{${labels}}`, 'count differs')
    if (!family.samples.has(`${family.name}_sum${braced}`)) fail(`${family.name}{${labels}}`, 'no sum')
  }
}

/** Reads a page of either format; throws where a line does not belong. */
export function parseScrape(text: string, format: 'prometheus' | 'openmetrics'): Scrape {
  if (!text.endsWith('\n')) throw new Error('the last line does not end')
  const lines = text.slice(0, -1).split('\n')
  if (format === 'openmetrics' && lines.pop() !== '# EOF') throw new Error('no # EOF')
  const families = new Map<string, Family>()
  let help: { name: string; text: string } | undefined
  let family: { -readonly [K in keyof Family]: Family[K] } | undefined
  for (const line of lines) {
    const meta = /^# (HELP|TYPE|UNIT) ([a-zA-Z_][a-zA-Z0-9_]*) (.+)$/.exec(line)
    if (meta !== null) {
      const [, what, name = '', rest = ''] = meta
      if (what === 'HELP') help = { name, text: rest }
      else if (what === 'TYPE') {
        if (help?.name !== name) fail(line, 'no HELP before')
        if (families.has(name)) fail(line, 'twice')
        if (!(rest in SUFFIXES)) fail(line, 'unknown type')
        family = { name, type: rest, help: help?.text ?? '', unit: undefined, samples: new Map() }
        families.set(name, family)
      } else if (family?.name !== name || !name.endsWith(`_${rest}`) || format === 'prometheus') fail(line, 'UNIT out of place')
      else family.unit = rest
      continue
    }
    const sample = LINE.exec(line)
    if (sample === null || family === undefined) return fail(line, 'no sample')
    const [, name = '', labels = '', number = ''] = sample
    const suffixes = format === 'openmetrics' && family.type === 'counter' ? ['_total'] : (SUFFIXES[family.type] as string[])
    if (!suffixes.some((suffix) => name === family?.name + suffix)) fail(line, `not of ${family.name}`)
    if (family.samples.has(name + labels)) fail(line, 'twice')
    family.samples.set(name + labels, value(number, line))
  }
  for (const f of families.values()) if (f.type === 'histogram') checkHistogram(f)
  return families
}

/** Every sample of a page by its name and labels. */
export function samplesOf(scrape: Scrape): Map<string, number> {
  return new Map([...scrape.values()].flatMap((family) => [...family.samples]))
}

/**
 * Series that change by themselves: pages of memory do not belong to any work, nor does the content
 * of caches.
 */
const RESIDENT = /^node_memory_(used|kept)_bytes/

/** What differs between two pages: later minus earlier, samples that stayed left out. */
export function moved(before: Scrape, after: Scrape): Record<string, number> {
  const old = samplesOf(before)
  const changes: Record<string, number> = {}
  for (const [sample, value] of samplesOf(after)) {
    const change = value - (old.get(sample) ?? 0)
    if (change !== 0 && !Number.isNaN(change) && !RESIDENT.test(sample)) changes[sample] = change
  }
  return changes
}
