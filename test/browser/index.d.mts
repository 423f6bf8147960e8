/** A page of the browser: the part of Playwright's that the tests use. */
export interface Page {
  goto(url: string): Promise<unknown>
  goBack(): Promise<unknown>
  reload(): Promise<unknown>
  locator(selector: string): Locator
  on(event: 'console', listener: (message: { type(): string; text(): string }) => void): void
  on(event: 'pageerror', listener: (error: Error) => void): void
  on(event: 'dialog', listener: (dialog: { message(): string; dismiss(): Promise<void> }) => void): void
  on(event: 'request', listener: (request: Request) => void): void
  on(event: 'requestfinished', listener: (request: Request) => void): void
  on(event: 'websocket', listener: (socket: { url(): string }) => void): void
  route(url: string, handler: (route: Route) => Promise<void>): Promise<unknown>
  evaluate<T>(script: string): Promise<T>
  addInitScript(script: string): Promise<unknown>
  screenshot(options: { path: string; fullPage?: boolean }): Promise<unknown>
  waitForEvent(event: 'download', options?: { timeout?: number }): Promise<{ path(): Promise<string> }>
  setDefaultTimeout(ms: number): void
  setViewportSize(size: { width: number; height: number }): Promise<void>
  url(): string
  content(): Promise<string>
  close(): Promise<void>
  readonly keyboard: { press(key: string): Promise<void>; type(text: string): Promise<void> }
  readonly mouse: { move(x: number, y: number): Promise<void>; wheel(x: number, y: number): Promise<void>; click(x: number, y: number): Promise<void> }
}

/** A request of a page. */
export interface Request {
  url(): string
  method(): string
  postData(): string | null
  headers(): Record<string, string>
  resourceType(): string
  sizes(): Promise<{ requestBodySize: number; responseBodySize: number; responseHeadersSize: number }>
}

/** A request that a test answers in place of the node. */
export interface Route {
  request(): Request
  fetch(): Promise<{ headers(): Record<string, string> }>
  fulfill(options: { response?: unknown; headers?: Record<string, string>; status?: number; body?: string }): Promise<void>
  continue(): Promise<void>
}

/** Elements of a page. */
export interface Locator {
  first(): Locator
  last(): Locator
  nth(index: number): Locator
  locator(selector: string): Locator
  count(): Promise<number>
  click(options?: { position?: { x: number; y: number } }): Promise<void>
  fill(text: string): Promise<void>
  focus(): Promise<void>
  hover(): Promise<void>
  setInputFiles(file: { name: string; mimeType: string; buffer: Buffer }): Promise<void>
  waitFor(options?: { timeout?: number; state?: 'attached' | 'detached' | 'visible' | 'hidden' }): Promise<void>
  textContent(): Promise<string | null>
  innerText(): Promise<string>
  allInnerTexts(): Promise<string[]>
  getAttribute(name: string): Promise<string | null>
  boundingBox(): Promise<{ x: number; y: number; width: number; height: number } | null>
}

/** A browser that runs. */
export interface Browser {
  newPage(options?: {
    colorScheme?: 'light' | 'dark'
    reducedMotion?: 'reduce' | 'no-preference'
    viewport?: { width: number; height: number }
    javaScriptEnabled?: boolean
  }): Promise<Page>
  close(): Promise<void>
}

/** A browser with the file of axe-core, or why there is none. */
export function openBrowser(): Promise<{ readonly browser: Browser; readonly axe: string } | { readonly missing: string }>
