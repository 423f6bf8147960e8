// The explorer for every reader: axe on each page in both themes, the keyboard alone from the home
// page to a step, focus that is always seen, and no motion where the system says so.
import fs from 'node:fs'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { demoNode, FAILED, PAGES } from '../browser/demo.mjs'
import {
  BROWSER_MS_MAX,
  closeBrowserAfterAll,
  describeInBrowser,
  IS_FULL,
  PAGE_MS_MAX,
  type Watched,
  watchedPage,
} from './explorer-browser.ts'

/** Stops of the tabulator that are looked at on a page. */
const STOPS = 40

/** Violations that keep someone from using a page. */
const IMPACTS = new Set(['serious', 'critical'])

interface Violation {
  readonly id: string
  readonly impact: string
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[]
}

closeBrowserAfterAll()
await describeInBrowser(
  'row 14: the explorer',
  (browser) => {
    let node: Awaited<ReturnType<typeof demoNode>>
    let axe: string
    beforeAll(async () => {
      node = await demoNode()
      axe = fs.readFileSync(browser().axe, 'utf8')
    }, BROWSER_MS_MAX)
    afterAll(() => node?.stop())

    /** The serious violations of a page as it is now. */
    const violations = async ({ page }: Watched): Promise<string[]> => {
      // The driver's own evaluation is not subject to the policy of the page.
      await page.evaluate(`${axe};undefined`)
      const found = await page.evaluate<Violation[]>(
        `axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations)`,
      )
      return found
        .filter(({ impact }) => IMPACTS.has(impact))
        .flatMap(({ id, nodes }) =>
          nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)}: ${failureSummary.split('\n')[1]}`),
        )
    }

    it.each(['light', 'dark'] as const)('has no serious finding of axe on any page, %s', async (colorScheme) => {
      const view = await watchedPage(browser().browser, node.url, { colorScheme })
      const found: string[] = []
      for (const [name, [path, shows]] of Object.entries(PAGES)) {
        await view.open(path, shows)
        await view.page.locator('body:not(:has(.wait))').waitFor({ timeout: PAGE_MS_MAX })
        found.push(...(await violations(view)).map((one) => `${name}: ${one}`))
      }
      for (const button of ['[data-testid=names]', '[aria-label=Keys]']) {
        await view.page.locator(button).click()
        await view.shows('dialog[open]')
        found.push(...(await violations(view)).map((one) => `${button}: ${one}`))
        await view.page.keyboard.press('Escape')
      }
      expect(found).toEqual([])
      expect(view.bad).toEqual([])
      await view.page.close()
    })

    it('is used by keyboard alone, from the home page to a step', async () => {
      const view = await watchedPage(browser().browser, node.url)
      const { page } = view
      await view.open('/', '[data-testid=home-tx]')
      const focused = (script: string): Promise<string | null> =>
        page.evaluate(`(() => { const e = document.activeElement; return ${script} })()`)
      const tabTo = async (script: string, wanted: string): Promise<void> => {
        for (let stop = 0; (await focused(script)) !== wanted; stop++) {
          expect(stop, `no way to ${wanted} by the tabulator`).toBeLessThan(200)
          await page.keyboard.press('Tab')
        }
      }
      await tabTo(`e.getAttribute('href')`, `/tx/${FAILED}`)
      await page.keyboard.press('Enter')
      await view.shows('[data-testid=tree]')
      await tabTo('e.dataset.testid', 'tree')
      await page.keyboard.press('ArrowDown')
      await view.shows('[data-testid=frame-row][data-id="0.0"][aria-selected=true]')
      await tabTo('e.dataset.testid', 'frame-steps')
      await page.keyboard.press('Enter')
      await view.shows('[data-testid=step-row][aria-selected=true]')
      const first = Number(await page.locator('[data-testid=current-step]').getAttribute('data-step'))
      expect(first).toBeGreaterThan(0)
      await page.keyboard.press('s')
      await view.shows(`[data-testid=current-step][data-step="${first + 1}"]`)
      await page.close()
    })

    it('shows where the focus is at every stop', async () => {
      const view = await watchedPage(browser().browser, node.url)
      const unseen: string[] = []
      for (const [name, [path, shows]] of Object.entries(PAGES)) {
        await view.open(path, shows)
        for (let stop = 0; stop < STOPS; stop++) {
          await view.page.keyboard.press('Tab')
          const hidden = await view.page.evaluate<string | null>(`(() => {
            const e = document.activeElement
            if (e === null || e === document.body) return null
            // A field's frame is drawn by the form around it.
            for (let at = e, i = 0; at !== null && i < 3; at = at.parentElement, i++) {
              const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(at)
              if (outlineStyle !== 'none' && outlineWidth !== '0px') return null
              if (i > 0 && at.matches(':focus-within') && boxShadow !== 'none' && e.matches('input, textarea')) return null
            }
            return e.outerHTML.slice(0, 160)
          })()`)
          if (hidden !== null) unseen.push(`${name}: ${hidden}`)
        }
      }
      expect(unseen).toEqual([])
      await view.page.close()
    })

    it('moves nothing where the system says reduced motion', async () => {
      const view = await watchedPage(browser().browser, node.url, { reducedMotion: 'reduce' })
      for (const [path, shows] of Object.values(PAGES)) {
        await view.open(path, shows)
        const moving = await view.page.evaluate<string[]>(`[...document.querySelectorAll('*')].filter((e) => {
          const { animationName, animationDuration, transitionDuration, scrollBehavior } = getComputedStyle(e)
          const long = (text) => text.split(',').some((one) => parseFloat(one) * (one.trim().endsWith('ms') ? 1 : 1000) > 10)
          return (animationName !== 'none' && long(animationDuration)) || long(transitionDuration) || scrollBehavior === 'smooth'
        }).map((e) => e.className)`)
        expect(moving).toEqual([])
      }
      await view.page.close()
    })
  },
  { skips: !IS_FULL },
)
