// The explorer on recorded blocks of mainnet: failures frame by frame, names, gas that adds up, and
// numbers that are go-ethereum's.
import fs from 'node:fs'
import path from 'node:path'
import zlib from 'node:zlib'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Page } from '../browser/index.mjs'
import { FIXTURES } from '../conformance/fixtures.ts'
import { Calls } from './dev-calls.ts'
import { BROWSER_MS_MAX, closeBrowserAfterAll, describeInBrowser, IS_FULL, type Watched, watchedPage } from './explorer-browser.ts'
import { hearth, type RunningNode, startNode, tempHome } from './harness.ts'

const isThere = fs.existsSync(path.join(FIXTURES, 'mainnet-blocks', '12459406.json.gz'))
if (!isThere) console.log('skipped: the explorer on mainnet: the recorded blocks are not there')

const HASHES = {
  1: '0x4108d95bac3d98d4e08a3c5929e99a48d9cca7c41880c1f1b150c39b65916fed',
  5: '0xf75066958f924d3cfc875339993380aecf3babf68dbeaeaa1a98e7188f793c55',
  6: '0xa20814945d4d89df2473052608f8de39862c78c780fb4d92b5681f24e277242e',
  8: '0xdc25c85f6c525720d903b6cd1e46579b447ac49801ad5538642f0f144ddd27b1',
  112: '0x2eff87f353e1bfdf30ed334707ec8c6d07d8167aa0b0664919fd8b5d4ca29acc',
  191: '0x0695725bf0f5894c14db3c2c47ca4b2da5bcfade4c21f37c56f4aafa1b3baef1',
} as const

interface GethFrame {
  readonly gasUsed: string
  readonly output?: string
  readonly calls?: readonly GethFrame[]
  readonly logs?: readonly object[]
}

/** What go-ethereum answered for debug_traceBlockByNumber with callTracer and its logs. */
function gethTraces(block: number): { readonly txHash: string; readonly result: GethFrame }[] {
  const file = path.join(FIXTURES, 'geth-answers', 'mainnet-blocks', String(block), 'callTracer.withLog.json.gz')
  return JSON.parse(zlib.gunzipSync(fs.readFileSync(file)).toString()) as ReturnType<typeof gethTraces>
}

const flat = (frame: GethFrame): GethFrame[] => [frame, ...(frame.calls ?? []).flatMap(flat)]

/** A node on a home that holds one recorded block, with its explorer on. */
async function nodeOf(block: number): Promise<{ readonly node: RunningNode; readonly home: string }> {
  const home = tempHome()
  const imported = hearth(['import', '--home', home, '--case', path.join(FIXTURES, 'mainnet-blocks', `${block}.json.gz`)])
  expect(imported.status).toBe(0)
  return { node: await startNode(['start', '--home', home, '--evm.explorer=true']), home }
}

const attributes = (page: Page, selector: string, name: string): Promise<(string | null)[]> =>
  page.evaluate(`[...document.querySelectorAll(${JSON.stringify(selector)})].map((e) => e.getAttribute(${JSON.stringify(name)}))`)

closeBrowserAfterAll()
await describeInBrowser(
  'the explorer on block 12459406',
  (browser) => {
    let node: RunningNode
    let home: string
    let view: Watched
    let page: Page
    const failure = async (hash: string): Promise<string[][]> => {
      await view.open(`/tx/${hash}`, '[data-testid=failure-link]')
      const links = await page.locator('[data-testid=failure-link]').allInnerTexts()
      return links.map((text) => text.split('\n').map((line) => line.trim()))
    }
    beforeAll(async () => {
      ;({ node, home } = await nodeOf(12459406))
      view = await watchedPage(browser().browser, node.url)
      page = view.page
    }, BROWSER_MS_MAX)
    afterAll(async () => {
      expect(view.bad).toEqual([])
      // A page that is open requests the status again, which a stopped node refuses.
      await page.close()
      expect(await node.stop()).toBe(0)
      fs.rmSync(home, { recursive: true, force: true })
    })

    it('row 1: explains a failure passed on, replaced, dropped', async () => {
      const links = await failure(HASHES[191])
      expect(links.map(([role, id]) => [role, id])).toEqual([
        ['arose', '0.0.0.0'],
        ['passed on', '0.0.0'],
        ['replaced', '0.0'],
        ['dropped', '0'],
      ])
      expect(links[0]?.at(-1)).toBe('SafeMath: subtraction overflow')
      expect(links[2]?.at(-1)).toBe('error/transfer-failed')
      expect(await attributes(page, '[data-testid=frame-row]', 'data-failed')).toEqual(['true', 'true', 'true', 'true'])
      expect(await attributes(page, '[data-testid=frame-row][data-origin=true]', 'data-id')).toEqual(['0.0.0.0'])
    })

    it.skipIf(!IS_FULL)('row 2: reports why transactions failed, counts calls', async () => {
      const links = await failure(HASHES[5])
      expect(links).toHaveLength(1)
      expect([links[0]?.[0], links[0]?.[1], links[0]?.at(-1)]).toEqual(['arose', '0', 'UniswapV2Router: INSUFFICIENT_OUTPUT_AMOUNT'])
      await view.open(`/tx/${HASHES[8]}`, '[data-testid=reason]')
      expect(await page.locator('[data-testid=reason]').textContent()).toBe('out of gas')
      await view.open(`/tx/${HASHES[112]}`, '[data-testid=tree][aria-rowcount="78"]')
      await expect.poll(() => page.locator('[data-testid=step-count]').textContent()).toBe('29,824')
    })

    it.skipIf(!IS_FULL).each([
      [6, 4, 'exactInputSingle', ['Swap', 'Transfer']],
      [1, 5, 'swapExactETHForTokens', ['Swap', 'Sync', 'Transfer']],
    ] as const)('row 3: names functions and events of transaction %i, and its gas adds up', async (index, events, fn, names) => {
      const hash = HASHES[index]
      await view.open(`/tx/${hash}`, '[data-testid=tree][aria-rowcount="8"]')
      expect(await page.locator('[data-testid=frame-row]').first().textContent()).toContain(fn)
      const geth = gethTraces(12459406).find(({ txHash }) => txHash === hash)?.result as GethFrame
      // The own gas of the first call has no intrinsic part once the steps are counted.
      await view.shows('[data-testid=own-gas][title="in the call itself"]')
      await expect.poll(() => page.locator('[data-testid=frame-row] [data-testid=own-gas][title^="with"]').count()).toBe(0)
      const [own, used] = [
        (await attributes(page, '[data-testid=own-gas]', 'data-gas')).map(Number),
        (await attributes(page, '[data-testid=gas]', 'data-gas')).map(Number),
      ]
      expect(used).toEqual(flat(geth).map(({ gasUsed }) => Number(gasUsed)))
      await view.open(`/tx/${hash}/flame`, '[data-testid=refund]')
      const fact = async (id: string): Promise<number> => Number((await attributes(page, `[data-testid=${id}] [data-gas]`, 'data-gas'))[0])
      const receipt = await new Calls(node.url).call<{ gasUsed: string; logs: object[] }>('eth_getTransactionReceipt', hash)
      const sum = own.reduce((all, gas) => all + gas, 0)
      expect(sum + (await fact('intrinsic-gas'))).toBe(Number(receipt.gasUsed) + (await fact('refund')))
      expect(sum).toBe(await fact('execution-gas'))
      await view.open(`/tx/${hash}/events`, '[data-testid=event-row]')
      expect(await page.locator('[data-testid=event-row]').count()).toBe(events)
      expect(flat(geth).flatMap(({ logs = [] }) => logs)).toHaveLength(events)
      const shown = await page.locator('[data-testid=event-row] .name').allInnerTexts()
      for (const name of names) expect(shown).toContain(name)
    })

    it.skipIf(!IS_FULL)('row 5: shows a block with the flame of its transactions', async () => {
      await view.open('/block/12459406', '[data-testid=flame]')
      expect(await page.locator('[data-testid=tx-row]').count()).toBe(201)
      expect(await page.locator('[data-testid=flame]').getAttribute('data-frames')).toBe('891')
      const traces = gethTraces(12459406)
      expect(traces.flatMap(({ result }) => flat(result))).toHaveLength(891)
      const used = traces.map(({ result }) => Number(result.gasUsed))
      const all = used.reduce((sum, gas) => sum + gas, 0)
      // The middle of the bar of transaction 112, by the gas of those before it.
      const before = used.slice(0, 112).reduce((sum, gas) => sum + gas, 0)
      const { width } = (await page.locator('[data-testid=flame] canvas').boundingBox()) as { width: number }
      await page
        .locator('[data-testid=flame] canvas')
        .click({ position: { x: ((before + (used[112] as number) / 2) / all) * width, y: 8 } })
      await view.shows('[data-testid=tree][aria-rowcount="78"]')
      expect(page.url()).toBe(`${node.url}/tx/${HASHES[112]}`)
    })

    it.skipIf(!IS_FULL)('row 15: leads back and forth between deep links', async () => {
      await view.open(`/tx/${HASHES[112]}/steps?at=20000`, '[data-testid=step-row][data-step="20000"][aria-selected=true]')
      await page.goto(`${node.url}/tx/${HASHES[112]}?frame=0.1`)
      await view.shows('[data-testid=frame-row][data-id="0.1"][aria-selected=true]')
      await page.goBack()
      await view.shows('[data-testid=current-step][data-step="20000"]')
      await page.reload()
      await view.shows('[data-testid=step-row][data-step="20000"][aria-selected=true]')
      expect(page.url()).toBe(`${node.url}/tx/${HASHES[112]}/steps?at=20000`)
    })

    it.skipIf(!IS_FULL)('row 17: prints the failure of each as hearth trace does', async () => {
      for (const index of [191, 5] as const) {
        const printed = hearth(['trace', '--width', '1000', '--rpc', node.url, HASHES[index]]).stdout.split('\n')
        const shown = await failure(HASHES[index])
        const chain = printed.slice(1, 1 + shown.length)
        expect(chain.map((line) => /^(.*?) +\[(.*?)\]/.exec(line)?.slice(1))).toEqual(shown.map(([role, id]) => [role, id]))
        for (const [i, line] of chain.entries()) expect(line).toContain(shown[i]?.[2])
      }
    })
  },
  { skips: !isThere },
)

await describeInBrowser(
  'row 4: custom errors',
  (browser) => {
    it.each([
      [18085863, 112, '0.0', '0x275c273c', 'CumulativeSlippageTooHigh(uint256 least, uint256 got)'],
      [19426586, 74, '0', '0x849eaf98', 'V2TooLittleReceived()'],
    ] as const)(
      'of block %i are shown with their data, and by name once a signature is given',
      async (...[block, index, id, selector, error]) => {
        const { node, home } = await nodeOf(block)
        const { page, open, bad, shows } = await watchedPage(browser().browser, node.url)
        const calls = new Calls(node.url)
        const { transactions } = await calls.call<{ transactions: string[] }>('eth_getBlockByNumber', `0x${block.toString(16)}`, false)
        const hash = transactions[index] as string
        await open(`/tx/${hash}?frame=${id}`, '[data-testid=failure-link]')
        const origin = page.locator('[data-testid=failure-link]').first()
        expect(await origin.getAttribute('data-id')).toBe(id)
        expect(await origin.textContent()).toContain(`custom error ${selector}`)
        // The whole data is with the call.
        const { output } = flat(gethTraces(block)[index]?.result as GethFrame).find(({ output }) =>
          output?.startsWith(selector),
        ) as GethFrame
        await shows('.side .bytes')
        expect(await page.locator('.side').textContent()).toContain(output)
        const name = error.slice(0, error.indexOf('('))
        const signatures = path.join(home, 'signatures')
        fs.writeFileSync(signatures, `error ${error}\n`)
        const printed = hearth(['trace', '--width', '1000', '--rpc', node.url, '--signatures', signatures, hash]).stdout.split('\n')
        expect(printed[1]).toContain(`  ${name}(`)
        await page.locator('[data-testid=names]').click()
        await page.locator('[data-testid=signatures]').fill(`error ${error}`)
        await page.locator('[data-testid=use-names]').click()
        await page.keyboard.press('Escape')
        await shows(`[data-testid=reason]:has-text("${name}(")`)
        expect(printed[1]).toContain(await page.locator('[data-testid=reason]').textContent())
        expect(bad).toEqual([])
        expect(await node.stop()).toBe(0)
        fs.rmSync(home, { recursive: true, force: true })
        await page.close()
      },
    )
  },
  { skips: !isThere || !IS_FULL },
)
