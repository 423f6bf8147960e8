// A real Chromium for the tests of the explorer: the machine's own, or the one of npm, driven by
// Playwright's core.
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { installed } from '../e2e/clients/install.mjs'

/** Programs that are looked for on the PATH. */
const NAMES = ['chromium', 'chromium-headless-shell', 'google-chrome']

/**
 * No name but addresses of this machine resolves: a request that leaves it fails, and is listed
 * all the same.
 */
const FLAGS = ['--no-sandbox', '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1', '--force-color-profile=srgb']

/** How long unpacking may take, in milliseconds. */
const UNPACK_MS_MAX = 120_000

const onPath = (name) =>
  (process.env.PATH ?? '')
    .split(path.delimiter)
    .map((folder) => path.join(folder, name))
    .find((file) => fs.existsSync(file))

/**
 * The Chromium of the package, unpacked beside it: it goes into the folder for temporary files,
 * flat.
 */
function unpacked(dir) {
  const into = path.join(dir, 'unpacked')
  fs.mkdirSync(into, { recursive: true })
  const script = "import chromium from '@sparticuz/chromium'; process.stdout.write(await chromium.executablePath())"
  const ran = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    cwd: dir,
    env: { ...process.env, TMPDIR: into },
    encoding: 'utf8',
    timeout: UNPACK_MS_MAX,
  })
  return ran.status === 0 && fs.existsSync(ran.stdout) ? ran.stdout : undefined
}

/** A browser with its driver, or why there is none. */
export async function openBrowser() {
  const found = await installed('browser')
  if ('missing' in found) return found
  const { chromium } = createRequire(path.join(found.dir, 'package.json'))('playwright-core')
  const executablePath = process.env.HEARTH_CHROMIUM ?? NAMES.map(onPath).find(Boolean) ?? unpacked(found.dir)
  if (executablePath === undefined) return { missing: 'there is no Chromium, and that of npm does not unpack: apt-get install chromium' }
  try {
    const browser = await chromium.launch({ executablePath, args: FLAGS })
    const axe = path.join(found.dir, 'node_modules/axe-core/axe.min.js')
    // A machine without a locale gives the browser a language of POSIX, which Intl refuses.
    const newPage = (options) => browser.newPage({ locale: 'en-US', ...options })
    return { browser: { newPage, close: () => browser.close() }, axe }
  } catch (e) {
    return { missing: `Chromium does not start (apt-get install chromium): ${String(e).split('\n')[0]}` }
  }
}
