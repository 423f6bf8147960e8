/** A record of the table that docs/benchmarks.md starts with. */
export interface BenchRecord {
  /** Section of the page that has its row. */
  readonly in: string
  /** What the table calls it. */
  readonly name: string
}

/** Records in the order of the table. */
export const RECORDS: readonly BenchRecord[]
