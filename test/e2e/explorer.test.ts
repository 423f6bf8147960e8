// The explorer in a real Chromium, on the demo of a development chain.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { demoNode, FAILED, PAGES, SWAP } from '../browser/demo.mjs'
import type { Page } from '../browser/index.mjs'
import { Calls } from './dev-calls.ts'
import { BROWSER_MS_MAX, closeBrowserAfterAll, describeInBrowser, PAGE_MS_MAX, type Watched, watchedPage } from './explorer-browser.ts'

closeBrowserAfterAll()
await describeInBrowser('the explorer', (browser) => {
  let node: Awaited<ReturnType<typeof demoNode>>
  let page: Page
  let bad: string[]
  let open: Watched['open']
  let dev: Calls
  beforeAll(async () => {
    node = await demoNode()
    dev = new Calls(node.url)
    ;({ page, bad, open } = await watchedPage(browser().browser, node.url))
  }, BROWSER_MS_MAX)
  afterAll(() => node?.stop())

  it.each(Object.entries(PAGES))(
    'shows the page %s',
    async (_, [path, shows]) => {
      await open(path, shows)
      expect(bad).toEqual([])
    },
    2 * PAGE_MS_MAX,
  )

  it('row 10: requests its own node alone, without its policy too', async () => {
    /** Paths of all requests while every page is opened. */
    const requested = async (removesPolicy: boolean): Promise<string[]> => {
      const view = await watchedPage(browser().browser, node.url)
      if (removesPolicy) {
        await view.page.route('**/*', async (route) => {
          if (route.request().resourceType() !== 'document') return route.continue()
          const response = await route.fetch()
          const { 'content-security-policy': policy, ...headers } = response.headers()
          expect(policy).toContain("default-src 'none'")
          return route.fulfill({ response, headers })
        })
      }
      for (const [path, shows] of Object.values(PAGES)) {
        await view.open(path, shows)
        // The lines of the home page come with its second look at the node.
        if (path === '/') await view.shows('.spark canvas')
        await view.page.locator('body:not(:has(.wait))').waitFor({ timeout: PAGE_MS_MAX })
      }
      expect(view.bad).toEqual([])
      await view.page.close()
      // Which scripts are loaded late depends on time.
      return [...new Set(view.requests)].filter((url) => !url.includes('/_/assets/')).sort()
    }
    const [bound, free] = await Promise.all([requested(false), requested(true)])
    expect(bound.length).toBeGreaterThanOrEqual(Object.keys(PAGES).length)
    expect(free).toEqual(bound)
  })

  it('says where a failure arose and what passed it on', async () => {
    await open(`/tx/${FAILED}`, '[data-testid=failure-link]')
    const links = await page.locator('[data-testid=failure-link]').allInnerTexts()
    expect(links.map((text) => text.split('\n')[0])).toEqual(['arose', 'passed on'])
    expect(links[0]).toContain('transferFrom')
    expect(links[0]).toContain('not allowed to take so many')
    expect(await page.locator('[data-testid=outcome]').first().textContent()).toBe('failed')
  })

  it('shows the calls of a transaction in order, and its events', async () => {
    await open(`/tx/${SWAP}`, '[data-testid=frame-row]')
    const calls = await page.locator('[data-testid=frame-row]').allInnerTexts()
    expect(calls).toHaveLength(5)
    expect(calls[1]).toContain('transferFrom')
    await open(`/tx/${SWAP}/events`, '[data-testid=event-row]')
    expect(await page.locator('[data-testid=event-row]').count()).toBe(2)
  })

  it('finds a transaction by its hash, with the keyboard alone', async () => {
    await open('/', '[data-testid=block-row]')
    await page.keyboard.press('/')
    await page.keyboard.type(FAILED)
    await page.keyboard.press('Enter')
    await page.locator('[data-testid=failure-chain]').waitFor({ timeout: PAGE_MS_MAX })
    expect(page.url()).toBe(`${node.url}/tx/${FAILED}`)
  })

  it('steps through a transaction by keys and finds steps', async () => {
    await open(`/tx/${FAILED}/steps`, '[data-testid=step-row]')
    const logs = await dev.call<{ structLogs: { op: string }[] }>('debug_traceTransaction', FAILED, {})
    const ops = logs.structLogs.map(({ op }) => op)
    const current = async () => Number(await page.locator('[data-testid=current-step]').first().getAttribute('data-step'))
    const shows = (step: number) =>
      page.locator(`[data-testid=step-row][data-step="${step}"]:has-text("${ops[step]}")`).waitFor({ timeout: PAGE_MS_MAX })
    expect(await current()).toBe(0)
    await shows(0)
    await page.keyboard.press('s')
    expect(await current()).toBe(1)
    await page.keyboard.press('G')
    expect(await current()).toBe(ops.length - 1)
    await shows(ops.length - 1)
    expect(ops.at(-1)).toBe('REVERT')
    // The first call of the transaction, by the search.
    await page.keyboard.press('g')
    await page.keyboard.type('0')
    await page.keyboard.press('Enter')
    await page.keyboard.press('/')
    await page.keyboard.type('CALL')
    await page.keyboard.press('Enter')
    const call = ops.indexOf('CALL')
    await page.locator(`[data-testid=current-step][data-step="${call}"]`).waitFor({ timeout: PAGE_MS_MAX })
    await shows(call)
    expect(bad).toEqual([])
  })

  it('says that a transaction is unknown', async () => {
    await open(`/tx/0x${'12'.repeat(32)}`, '[data-testid=trouble]')
    expect(await page.locator('[data-testid=trouble]').first().textContent()).toMatch(/transaction/i)
  })

  it('shows an account at the head, also after a reorg', async () => {
    // The width of each drawing is recorded where the page sets it.
    await page.addInitScript(`{
      const width = Object.getOwnPropertyDescriptor(HTMLCanvasElement.prototype, 'width')
      globalThis.widths = []
      Object.defineProperty(HTMLCanvasElement.prototype, 'width', {
        ...width,
        set(value) { globalThis.widths.push([value, this.clientWidth]); width.set.call(this, value) },
      })
    }`)
    await open(`/tx/${SWAP}/flame`, '[data-testid=flame]')
    await expect.poll(() => page.evaluate<number>('globalThis.widths.length'), { timeout: PAGE_MS_MAX }).toBeGreaterThan(0)
    const widths = await page.evaluate<[number, number][]>('globalThis.widths')
    for (const [drawn, place] of widths) expect(drawn).toBe(place)
  })

  it('reports that a block left the chain, and shows the rest', async () => {
    const address = `0x${'be'.repeat(20)}`
    const send = (value: string) =>
      dev.call('eth_sendTransaction', { from: '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266', to: address, value })
    const shows = (text: string) => page.locator(`dl.facts:has-text("${text}")`).waitFor({ timeout: PAGE_MS_MAX })
    const snapshot = await dev.call('evm_snapshot')
    await open(`/address/${address}`, 'dl.facts')
    await shows('0 ether')
    await page.evaluate(`{
      globalThis.waits = 0
      const look = () => { globalThis.waits += document.querySelectorAll('main .wait').length }
      new MutationObserver(look).observe(document.body, { subtree: true, childList: true })
    }`)
    await send('0xde0b6b3a7640000')
    await shows('1 ether')
    // Nothing notifies of a head that goes back; the page sees it all the same.
    await dev.call('evm_revert', snapshot)
    await shows('0 ether')
    await send('0x1bc16d674ec80000')
    await shows('2 ether')
    expect(await page.evaluate<number>('globalThis.waits')).toBe(0)
    expect(bad).toEqual([])
  })

  it('of block %i equal struct logs, callTracer and filters', async () => {
    const head = () => page.locator('[data-testid=head-number]').first().textContent()
    const snapshot = await dev.call<string>('evm_snapshot')
    const before = Number(await dev.call<string>('eth_blockNumber'))
    const hash = await dev.call<string>('eth_sendTransaction', {
      from: '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
      value: '0x1',
      to: `0x${'ba'.repeat(20)}`,
    })
    await open(`/block/${before + 1}`, `[data-testid=tx-row][data-hash="${hash}"]`)
    await dev.call('evm_revert', snapshot)
    await page.locator('[data-testid=left-chain]').waitFor({ timeout: PAGE_MS_MAX })
    expect(await page.locator('[data-testid=left-chain]').textContent()).toContain('This block left the chain in a reorganisation')
    expect(await page.locator(`[data-testid=tx-row][data-hash="${hash}"]`).count()).toBe(1)
    await expect.poll(head).toBe(String(before))
    // The height is there again, with another block.
    await dev.call('anvil_mine', '0x1')
    await page.locator('[data-testid=left-chain] a').click()
    await page.locator('[data-testid=left-chain]').waitFor({ state: 'detached', timeout: PAGE_MS_MAX })
    expect(await page.locator(`[data-testid=tx-row][data-hash="${hash}"]`).count()).toBe(0)
    expect(bad).toEqual([])
  })

  it('leaves text of a contract as text', async () => {
    const hostile = '<img src=x onerror="globalThis.hit=1">'
    const reason = Buffer.from(hostile).toString('hex')
    // Error(string): offset, length, bytes; the code copies it out of itself and reverts.
    const data = `08c379a0${'20'.padStart(64, '0')}${hostile.length.toString(16).padStart(64, '0')}${reason.padEnd(128, '0')}`
    const length = (data.length / 2).toString(16).padStart(2, '0')
    const code = `0x60${length}600c60003960${length}6000fd${data}`
    const sender = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
    const hash = await dev.call<string>('eth_sendTransaction', { from: sender, data: code, gas: '0x186a0' })
    await open(`/tx/${hash}`, '[data-testid=failure-chain]')
    expect(await page.locator('[data-testid=failure-chain]').first().textContent()).toContain(hostile)
    expect(await page.evaluate<unknown>('globalThis.hit ?? null')).toBeNull()
    expect(bad).toEqual([])
  })
})
