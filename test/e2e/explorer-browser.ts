// What tests of the explorer share: a browser, pages that record everything that must not happen,
// and code for the contracts that they look at.
import { afterAll, describe } from 'vitest'
import { type Browser, openBrowser, type Page } from '../browser/index.mjs'

/** How long installing and starting the browser may take, in milliseconds. */
export const BROWSER_MS_MAX = 300_000

/**
 * How long a page may take until it shows its content, or answers an action, in
 * milliseconds: beside other tests a browser without a graphics card may wait long for a processor.
 */
export const PAGE_MS_MAX = 120_000

/** Whether the long tests run too. */
export const IS_FULL = process.env.HEARTH_TEST === 'full'

/** Sees violations of the page's policy, which are no errors of the page. */
const WATCH = `document.addEventListener('securitypolicyviolation', (e) =>
  console.error('policy: ' + e.violatedDirective + ' ' + e.blockedURI))`

/** A page and what it did that no page may do. */
export interface Watched {
  readonly page: Page
  /** Errors of the page, violations of its policy, requests to other origins; must stay empty. */
  readonly bad: string[]
  /** Every request of the page, also those that were refused. */
  readonly requests: string[]
  /** Opens a path and waits until an element shows. */
  readonly open: (path: string, shows: string) => Promise<void>
  /** Waits until an element shows. */
  readonly shows: (selector: string) => Promise<void>
}

/** What the page itself prints when the node refuses a request, which tests of refusals provoke. */
const REFUSED = /Failed to load resource: the server responded with a status of (401|403|404|429|503)|WebSocket connection to/

/** A fresh page on a node. `also`: origins that the page may reach beside the node's own. */
export async function watchedPage(
  browser: Browser,
  url: string,
  { also = [], ...options }: { readonly also?: readonly string[] } & Parameters<Browser['newPage']>[0] = {},
): Promise<Watched> {
  const page = await browser.newPage({ viewport: { width: 1280, height: 860 }, ...options })
  page.setDefaultTimeout(PAGE_MS_MAX)
  const bad: string[] = []
  const requests: string[] = []
  const own = [url, url.replace('http', 'ws'), 'data:', `blob:${url}`, ...also]
  const seen = (address: string): void => {
    requests.push(address)
    if (!own.some((prefix) => address.startsWith(prefix))) bad.push(`request: ${address}`)
  }
  await page.addInitScript(WATCH)
  page.on('pageerror', (error) => bad.push(`error: ${error.message}`))
  page.on('console', (message) => {
    if (message.type() === 'error' && !REFUSED.test(message.text())) bad.push(`console: ${message.text()}`)
  })
  page.on('dialog', (dialog) => {
    bad.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('request', (request) => seen(request.url()))
  page.on('websocket', (socket) => seen(socket.url()))
  const shows = (selector: string): Promise<void> => page.locator(selector).first().waitFor({ timeout: PAGE_MS_MAX })
  const open = async (path: string, selector: string): Promise<void> => {
    await page.goto(url + path)
    await shows(selector)
  }
  return { page, bad, requests, open, shows }
}

let opened: Awaited<ReturnType<typeof openBrowser>> | undefined

/** Tests in a browser; they are skipped where there is none, which is printed. */
export async function describeInBrowser(
  name: string,
  tests: (browser: () => { browser: Browser; axe: string }) => void,
  { skips = false }: { readonly skips?: boolean } = {},
): Promise<void> {
  if (!skips) opened ??= await openBrowser()
  const here = opened
  if (here !== undefined && 'missing' in here) console.log(`skipped: ${name} in a browser: ${here.missing}`)
  describe.skipIf(skips || here === undefined || 'missing' in here)(name, () => {
    tests(() => here as { browser: Browser; axe: string })
  })
}

/** Ends the browser with the tests of a file. */
export function closeBrowserAfterAll(): void {
  afterAll(async () => {
    if (opened !== undefined && 'browser' in opened) await opened.browser.close()
    opened = undefined
  })
}

/** Creation code that leaves this code: CODECOPY of what is behind its 12 bytes, RETURN. */
export const deploying = (code: string): string => `0x61${(code.length / 2).toString(16).padStart(4, '0')}80600c6000396000f3${code}`
