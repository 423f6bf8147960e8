/** A place that the check of prose objects to. */
export interface Finding {
  readonly file: string
  readonly line: number
  readonly inComment: boolean
  readonly kind: string
  readonly found: string
  readonly advice: string
}

/** Findings in a page. */
export function checkPage(root: string, file: string, page: string): Finding[]

/** Findings in the names of a file's tests. */
export function checkTestNames(file: string, source: string): Finding[]

/** Findings in a source file: its comments, and its texts where those may reach users. */
export function checkSource(file: string, source: string): Finding[]
