// The explorer's pages for questions, in a real Chromium: what if, comparison, tracers, buttons of
// a development chain, accounts.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { demoNode, FAILED, SWAP } from '../browser/demo.mjs'
import type { Page } from '../browser/index.mjs'
import { ALICE, BOB, Calls } from './dev-calls.ts'
import { BROWSER_MS_MAX, closeBrowserAfterAll, describeInBrowser, PAGE_MS_MAX, type Watched, watchedPage } from './explorer-browser.ts'
import { type RunningNode, startNode } from './harness.ts'
import { until } from './waiting.ts'

/** How long the outcome of a script is waited for, in milliseconds: longer than its time limit. */
const TRY_MS = 10_000

closeBrowserAfterAll()
await describeInBrowser('the explorer, asked', (browser) => {
  let node: Awaited<ReturnType<typeof demoNode>>
  let dev: Calls
  let watched: Watched
  let page: Page
  beforeAll(async () => {
    node = await demoNode()
    dev = new Calls(node.url)
    watched = await watchedPage(browser().browser, node.url)
    page = watched.page
  }, BROWSER_MS_MAX)
  afterAll(() => node?.stop())

  const text = async (id: string): Promise<string> => (await page.locator(`[data-testid=${id}]`).first().textContent()) ?? ''
  const click = (id: string): Promise<void> => page.locator(`[data-testid=${id}]`).first().click()
  const fill = (id: string, value: string): Promise<void> => page.locator(`[data-testid=${id}]`).first().fill(value)
  const value = (id: string): Promise<string> => page.evaluate<string>(`document.querySelector('[data-testid=${id}]').value`)

  /**
   * Runs the tracer of the page until an element shows: on a busy machine a script may run out of
   * time before.
   */
  const ranUntil = (what: string, shows: string): Promise<void> =>
    until(what, async () => {
      await click('tracer-run')
      const shown = watched.page.locator(shows).first()
      return await shown.waitFor({ timeout: TRY_MS }).then(
        () => true,
        () => false,
      )
    })

  it('runs a mined transaction again, with the same calls', async () => {
    await watched.open(`/tx/${SWAP}`, '[data-testid=what-if]')
    await click('what-if')
    await watched.shows('[data-testid=call-run]')
    await expect.poll(() => value('call-to'), { timeout: PAGE_MS_MAX }).toMatch(/^0x[0-9a-f]{40}$/)
    await click('call-run')
    await watched.shows('[data-testid=call-result]')
    await watched.shows('[data-testid=compare-said][data-equal=true]')
    await expect.poll(() => page.locator('[data-testid=frame-row]').count(), { timeout: PAGE_MS_MAX }).toBe(5)
    expect(watched.bad).toEqual([])
  })

  it('shows every view of a call, whose link only has the form', async () => {
    for (const [view, shows] of Object.entries({
      events: 'event-row',
      state: 'slot-row',
      flame: 'flame',
      storage: 'heat-row',
      steps: 'step-op',
      raw: 'raw',
      calls: 'frame-row',
    })) {
      await click(`tab-${view}`)
      await watched.shows(`[data-testid=${shows}]`)
    }
    const link = page.url()
    expect(link).toMatch(/\/call#[\w-]+$/)
    const other = await watchedPage(browser().browser, node.url)
    await other.open(link.slice(node.url.length), '[data-testid=call-run]')
    await expect
      .poll(() => other.page.evaluate<string>(`document.querySelector('[data-testid=call-to]').value`))
      .toMatch(/^0x[0-9a-f]{40}$/)
    expect(await other.page.locator('[data-testid=call-result]').count()).toBe(0)
    expect([...watched.bad, ...other.bad]).toEqual([])
    await other.page.close()
  })

  it('changes a call and its state, and says what became other', async () => {
    await watched.open(`/call?tx=${FAILED}`, '[data-testid=call-run]')
    await expect.poll(() => value('call-to'), { timeout: PAGE_MS_MAX }).not.toBe('')
    const to = await value('call-to')
    // STOP in place of the contract: the call succeeds, and what it called is gone.
    await fill('call-state', JSON.stringify({ [to]: { code: '0x00' } }))
    await click('call-run')
    await watched.shows('[data-testid=call-result]:has-text("succeeds")')
    await watched.shows('[data-testid=compare-row]')
    const said = page.locator('[data-testid=compare-said]').first()
    const mined = await dev.trace<{ calls: unknown[] }>(FAILED, 'callTracer')
    expect(Number(await said.getAttribute('data-only-a'))).toBeGreaterThanOrEqual(mined.calls.length)
    expect(await page.locator('[data-testid=compare-row]').first().getAttribute('data-differs')).toContain('error')
    await click('find-parting')
    await watched.shows('[data-testid=parting]')
    expect(await text('parting')).toContain('The executions part at step 0')
    expect(watched.bad).toEqual([])
  })

  it('says what a field takes', async () => {
    await watched.open('/call', '[data-testid=call-run]')
    for (const [field, given, says] of [
      ['to', '0x12', 'To takes an address'],
      ['value', 'much', 'Value takes an amount'],
      ['data', 'abc', 'Data takes bytes in hex'],
      ['state', '[]', 'State overrides takes a JSON object'],
      ['block', 'soon', 'Block takes a height'],
    ] as const) {
      const before = await value(`call-${field}`)
      await fill(`call-${field}`, given)
      await click('call-run')
      await watched.shows(`[data-testid=call-said]:has-text("${says}")`)
      await fill(`call-${field}`, before)
    }
    await watched.open('/call#nonsense', '[data-testid=call-said]:has-text("This link does not read")')
    expect(watched.bad).toEqual([])
  })

  it('compares a transaction with itself, and with another one', async () => {
    await watched.open(`/compare/${SWAP}/${SWAP}`, '[data-testid=compare-said]')
    expect(await page.locator('[data-testid=compare-said]').first().getAttribute('data-equal')).toBe('true')
    await click('find-parting')
    await watched.shows('[data-testid=parting]')
    expect(await text('parting')).toContain('Every step is at the same place')
    await watched.open(`/compare/${SWAP}/${FAILED}`, '[data-testid=compare-row]')
    expect(await page.locator('[data-testid=compare-said]').first().getAttribute('data-equal')).toBe('false')
    await watched.open(`/compare/${SWAP}/0x12`, '[data-testid=trouble]')
    expect(watched.bad).toEqual([])
  })

  it('runs a JavaScript and a built-in tracer, as table and JSON', async () => {
    await watched.open(`/tracer?tx=${SWAP}`, '[data-testid=tracer-run]')
    const source =
      '{ n: {}, step: function (log) { var op = log.op.toString(); this.n[op] = (this.n[op] || 0) + 1 }, fault: function () {}, result: function () { return this.n } }'
    await fill('tracer-source', source)
    await ranUntil('the result of the script', '[data-testid=result-row]')
    const counts = await dev.call<Record<string, number>>('debug_traceTransaction', SWAP, { tracer: source, timeout: '5m' })
    await expect.poll(() => page.locator('[data-testid=result-row]').count(), { timeout: PAGE_MS_MAX }).toBe(Object.keys(counts).length)
    expect(Object.keys(counts).length).toBeGreaterThan(10)
    // Letters that are keys of the page elsewhere.
    const theme = (): Promise<string | null> => page.locator('html').getAttribute('data-theme')
    const before = await theme()
    await fill('tracer-source', '')
    await page.locator('[data-testid=tracer-source]').first().focus()
    await page.keyboard.type('// t?')
    expect(await page.locator('[data-testid=tracer-source]').first().textContent()).toBe('// t?')
    expect([await theme(), await page.locator('dialog[open]').count()]).toEqual([before, 0])
    await fill('tracer-source', 'callTracer')
    await fill('tracer-config', '{"onlyTopCall": true}')
    await click('tracer-run')
    await watched.shows('[data-testid=result-json]:has-text("gasUsed")')
    expect(JSON.parse(await text('result-json'))).toEqual(await dev.trace(SWAP, 'callTracer', { onlyTopCall: true }))
    await fill('tracer-config', '{')
    await click('tracer-run')
    await watched.shows('[data-testid=tracer-said]')
    expect(watched.bad).toEqual([])
  })

  it('shows that a script ran out of time, and where one fails', async () => {
    await watched.open(`/tracer?tx=${SWAP}`, '[data-testid=tracer-run]')
    await fill('tracer-config', '')
    await fill('tracer-source', '{ step: function () { for (;;) {} }, fault: function () {}, result: function () { return 1 } }')
    await click('tracer-run')
    await watched.shows('[data-testid=trouble][data-trouble=timeout]')
    await fill(
      'tracer-source',
      '{ step: function () { throw new Error("<b>here</b>") }, fault: function () {}, result: function () { return 1 } }',
    )
    await ranUntil('the failure of the script', '[data-testid=trouble]:has-text("<b>here</b>")')
    expect(watched.bad).toEqual([])
  })

  it('mines, moves time, takes snapshots and goes back', async () => {
    await watched.open('/', '[data-testid=dev-mine]')
    const before = await dev.height()
    await click('dev-snapshot')
    await watched.shows('[data-testid=dev-said]:has-text("is taken")')
    await click('dev-mine')
    await watched.shows(`[data-testid=dev-said]:has-text("Block ${before + 1} is the newest")`)
    const time = await dev.time()
    await click('dev-time')
    await watched.shows('[data-testid=dev-said]:has-text("3600 s later")')
    expect((await dev.time()) - time).toBeGreaterThanOrEqual(3600)
    await click('dev-revert')
    await watched.shows('[data-testid=dev-said]:has-text("back at snapshot")')
    expect(await dev.height()).toBe(before)
    expect(watched.bad).toEqual([])
  })

  it('shows an account in full, and edits it under hearth dev', async () => {
    const swap = await dev.call<{ to: string; from: string }>('eth_getTransactionByHash', SWAP)
    await watched.open(`/address/${swap.to}`, '[data-testid=account-tx]')
    await page.locator('[data-testid=account-more] button:has-text("Events")').first().click()
    await watched.shows('[data-testid=account-event], [data-testid=account-more] :text("None")')
    await page.locator('[data-testid=account-more] button:has-text("Instructions")').first().click()
    await watched.shows('[data-testid=instruction]')
    await page.locator('[data-testid=account-more] button:has-text("Storage")').first().click()
    await watched.shows('[data-testid=storage-row]')
    const other = `0x${'5e'.repeat(20)}`
    await watched.open(`/address/${other}`, '[data-testid=dev-set-balance]')
    await fill('dev-balance', '7 ether')
    await click('dev-set-balance')
    await watched.shows('[data-testid=dev-said]:has-text("7 ether")')
    expect(await dev.balance(other)).toBe(7n * 10n ** 18n)
    await click('dev-impersonate')
    await watched.shows('[data-testid=dev-said]:has-text("signs for this account")')
    await fill('dev-to', BOB)
    const had = await dev.balance(BOB)
    await click('dev-send')
    await watched.shows('[data-testid=dev-said]:has-text("Sent: 0x")')
    expect((await dev.balance(BOB)) - had).toBe(10n ** 18n)
    expect(watched.bad).toEqual([])
  })
})

await describeInBrowser('the explorer of a node without scripts and without a development chain', (browser) => {
  let node: RunningNode
  let watched: Watched
  beforeAll(async () => {
    node = await startNode(['dev', '--evm.trace_allow_js_tracers=false', '--evm.deny_list=anvil_getAutomine'])
    watched = await watchedPage(browser().browser, node.url)
  }, BROWSER_MS_MAX)
  afterAll(() => node?.stop())

  it('says that scripts are off, and shows no buttons', async () => {
    const hash = await new Calls(node.url).send(ALICE, BOB, { value: '0x1' })
    const { page, open, shows, bad } = watched
    await open(`/tracer?tx=${hash}`, '[data-testid=tracer-run]')
    await page.locator('[data-testid=tracer-source]').first().fill('{ fault: function () {}, result: function () { return 1 } }')
    await page.locator('[data-testid=tracer-run]').first().click()
    await shows('[data-testid=trouble][data-trouble=scripts-off]')
    await open('/', 'nav.tools')
    await open(`/address/${ALICE}`, '[data-testid=account-tx]')
    expect(await page.locator('[data-testid=dev-panel], [data-testid=dev-account]').count()).toBe(0)
    expect(bad).toEqual([])
  })
})
