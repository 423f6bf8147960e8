/** Sections of the text of a page, by name. */
export function sections(text: string): Map<string, string>

/** The page: its table, then the sections in their order. */
export function pageOf(all: Map<string, string>): string
