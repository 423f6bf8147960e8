// The package as `npm pack` makes it in a checkout, with its binary in it: installed into an empty
// folder, imported there, with its types. In the full run: `npm test` has the same tests of the
// tarballs that are published (package-install.test.ts).
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe } from 'vitest'
import { ROOT } from './harness.ts'
import { checkInstalled } from './installed.ts'
import { checkUses, install, newProject } from './package-uses.ts'
import { FULL } from './peer.ts'

/** Time for a test that calls npm, in milliseconds: a bound against hangs on a busy machine. */
const NPM_MS_MAX = 600_000

/**
 * Time for packing, which builds isolated-vm for three versions of Node the first time, in
 * milliseconds.
 */
const PACK_MS_MAX = 2_400_000

if (!FULL) console.log('skipped: npm pack runs in full mode (npm run test:full)')

describe.skipIf(process.platform !== 'linux' || !FULL)('npm pack', { timeout: NPM_MS_MAX }, () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-pack-'))
  const dir = path.join(folder, 'project')
  const tarballs: string[] = []
  afterAll(() => fs.rmSync(folder, { recursive: true, force: true }))

  beforeAll(() => {
    const options = { cwd: ROOT, encoding: 'utf8', timeout: PACK_MS_MAX } as const
    const packed = spawnSync('npm', ['pack', '--silent', '--pack-destination', folder], options)
    if (packed.status !== 0) throw new Error(`${packed.stdout}${packed.stderr}`)
    tarballs.push(...fs.readdirSync(folder).map((file) => path.join(folder, file)))
    newProject(dir)
    install(dir, ...tarballs)
  }, PACK_MS_MAX)

  checkInstalled(() => dir)
  checkUses(() => ({ dir, tarballs }))
})
