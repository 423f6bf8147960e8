/** A page of the browser: the part of Playwright's that the tests use. */
export interface Page {
  goto(url: string): Promise<unknown>
  locator(selector: string): Locator
  on(event: 'console', listener: (message: { type(): string; text(): string }) => void): void
  on(event: 'pageerror', listener: (error: Error) => void): void
  on(event: 'request', listener: (request: { url(): string }) => void): void
  evaluate<T>(script: string): Promise<T>
  addInitScript(script: string): Promise<unknown>
  url(): string
  close(): Promise<void>
  readonly keyboard: { press(key: string): Promise<void>; type(text: string): Promise<void> }
}

/** Elements of a page. */
export interface Locator {
  first(): Locator
  nth(index: number): Locator
  count(): Promise<number>
  click(): Promise<void>
  waitFor(options?: { timeout?: number }): Promise<void>
  textContent(): Promise<string | null>
  allInnerTexts(): Promise<string[]>
  getAttribute(name: string): Promise<string | null>
}

/** A browser that runs. */
export interface Browser {
  newPage(options?: { colorScheme?: 'light' | 'dark'; viewport?: { width: number; height: number } }): Promise<Page>
  close(): Promise<void>
}

/** A browser with the file of axe-core, or why there is none. */
export function openBrowser(): Promise<{ readonly browser: Browser; readonly axe: string } | { readonly missing: string }>
