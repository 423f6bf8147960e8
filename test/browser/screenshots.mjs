// Screenshots of every page of the explorer, light and dark:
//   node test/browser/screenshots.mjs FOLDER
//
// Starts `hearth dev --demo`, opens each page in a real Chromium, and writes FOLDER/PAGE-THEME.png.
import fs from 'node:fs'
import path from 'node:path'
import { demoNode, PAGES } from './demo.mjs'
import { openBrowser } from './index.mjs'

/** How long a page may take until it shows its content, in milliseconds. */
const WAIT_MS_MAX = 30_000

/** Time for drawings on a canvas, which come some frames after their data, in milliseconds. */
const DRAWN_MS = 300

const VIEWPORT = { width: 1280, height: 860 }

const folder = process.argv[2]
if (folder === undefined) throw new Error('usage: node test/browser/screenshots.mjs FOLDER')
fs.mkdirSync(folder, { recursive: true })
const opened = await openBrowser()
if ('missing' in opened) throw new Error(opened.missing)
const node = await demoNode()
try {
  for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
    const page = await opened.browser.newPage({ viewport: VIEWPORT, colorScheme })
    for (const [name, [at, shows]] of Object.entries(PAGES)) {
      await page.goto(node.url + at)
      await page.locator(shows).first().waitFor({ timeout: WAIT_MS_MAX })
      // Parts that load after the first, such as the flame of a block.
      await page.locator('body:not(:has(.wait))').waitFor({ timeout: WAIT_MS_MAX })
      await new Promise((resolve) => setTimeout(resolve, DRAWN_MS))
      await page.screenshot({ path: path.join(folder, `${name}-${colorScheme}.png`) })
    }
    await page.close()
  }
} finally {
  await opened.browser.close()
  await node.stop()
}
