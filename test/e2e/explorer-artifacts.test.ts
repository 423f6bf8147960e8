// The explorer with compiler artifacts, in a real Chromium: rows 11 (hostile artifacts) and 16 of
// its acceptance table.
import fs from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Page } from '../browser/index.mjs'
import { ALICE, Calls } from './dev-calls.ts'
import {
  BROWSER_MS_MAX,
  closeBrowserAfterAll,
  deploying,
  describeInBrowser,
  PAGE_MS_MAX,
  type Watched,
  watchedPage,
} from './explorer-browser.ts'
import { type RunningNode, startNode, tempHome } from './harness.ts'
import { compile, type Deployed, deploy, lineWith, SOURCE } from './vault.ts'

const compiled = await compile('foundry')
if ('missing' in compiled) console.log(`skipped: the explorer with artifacts: ${compiled.missing}`)

closeBrowserAfterAll()
if (!('missing' in compiled)) {
  await describeInBrowser('the explorer with artifacts of the node', (browser) => {
    let node: RunningNode
    let made: Deployed
    let watched: Watched
    let page: Page
    beforeAll(async () => {
      node = await startNode(['dev', '--artifacts', compiled.artifacts])
      made = await deploy(compiled.artifacts, new Calls(node.url))
      watched = await watchedPage(browser().browser, node.url)
      page = watched.page
    }, BROWSER_MS_MAX)
    afterAll(() => node?.stop())

    it('names contracts, functions, errors, and the failing line', async () => {
      await watched.open(`/tx/${made.failed}`, '[data-testid=origin-line]')
      await watched.shows('[data-testid=reason]:has-text("TooBig")')
      expect(await page.locator('[data-testid=reason]').first().textContent()).toBe('TooBig(asked: 5000, why: "more than the vault takes")')
      const row = page.locator('[data-testid=frame-row]').first()
      expect(await row.textContent()).toMatch(/Vault.*put/s)
      const line = page.locator('[data-testid=origin-line] [data-testid=source-line]').first()
      expect(await line.getAttribute('data-line')).toBe(String(lineWith('revert TooBig')))
      expect(await line.getAttribute('data-path')).toBe(SOURCE)
      expect(watched.bad).toEqual([])
    })

    it('marks the line of a step, and steps from line to line', async () => {
      await watched.open(`/tx/${made.put}/steps`, '[data-testid=source-pane]')
      const line = async (): Promise<number> => Number(await page.locator('[data-testid=source-line]').first().getAttribute('data-line'))
      const seen: number[] = []
      await watched.shows('[data-testid=source-line]')
      // Over the call of the library, to the line behind it.
      for (let i = 0; i < 60 && seen.at(-1) !== lineWith('emit Put'); i++) {
        const before = await page.locator('[data-testid=current-step]').first().getAttribute('data-step')
        await page.keyboard.press('l')
        await expect
          .poll(() => page.locator('[data-testid=current-step]').first().getAttribute('data-step'), { timeout: PAGE_MS_MAX })
          .not.toBe(before)
        const at = Number(await page.locator('[data-testid=current-step]').first().getAttribute('data-step'))
        await watched.shows(`[data-testid=step-op][data-step="${at}"]`)
        seen.push(await line())
      }
      for (const part of ['if (amount > 1000)', 'history.push', 'low = uint64', 'high += 1', 'emit Put'])
        expect(seen).toContain(lineWith(part))
      expect(seen).not.toContain(lineWith('return x / 2'))
      expect(watched.bad).toEqual([])
    })

    it('adds up the gas of lines and of the rest to all of the steps', async () => {
      await watched.open(`/tx/${made.put}/lines`, '[data-testid=gas-line]')
      const gas = async (id: string): Promise<number> =>
        Number(await page.locator(`[data-testid=${id}] [data-gas]`).first().getAttribute('data-gas'))
      const profile = await new Calls(node.url).call<{ stepsGas: number }>('debug_traceGasProfile', made.put, { by: 'pc' })
      expect((await gas('lines-gas')) + (await gas('no-source'))).toBe(profile.stepsGas)
      const push = page.locator(`[data-testid=gas-line][data-line="${lineWith('history.push')}"]`).first()
      expect(Number(await push.getAttribute('data-gas'))).toBeGreaterThan(40_000)
      expect(watched.bad).toEqual([])
    })

    it('names slots with their values', async () => {
      await watched.open(`/tx/${made.put}/state`, '[data-testid=slot-part]')
      const names = await page.locator('[data-testid=slot-part]').allInnerTexts()
      expect(names.sort()).toEqual([
        'accounts[0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266][7].shares',
        'high',
        'history',
        'history[0]',
        'low',
      ])
      expect(await page.locator('[data-testid=part-change]').allInnerTexts()).toEqual(
        expect.arrayContaining([expect.stringMatching(/0.*→.*10/s)]),
      )
      expect(watched.bad).toEqual([])
    })

    it('shows functions within contracts, and their gas', async () => {
      await watched.open(`/tx/${made.put}/flame`, '[data-testid=functions]')
      const flame = page.locator('[data-testid=functions] [data-testid=flame]').first()
      const names = ((await flame.getAttribute('data-names')) ?? '').split('\n')
      expect(names).toEqual(expect.arrayContaining(['Vault', 'Vault::put']))
      expect(Number(await flame.getAttribute('data-frames'))).toBeGreaterThan(2)
      expect(watched.bad).toEqual([])
    })

    it('names the slot of a step, and says what its opcode does', async () => {
      const where = { op: 'SSTORE' }
      const { hits } = await new Calls(node.url).call<{ hits: { index: number }[] }>('debug_traceStepSearch', made.put, { where })
      const names = new Set<string>()
      for (const { index } of hits) {
        await watched.open(`/tx/${made.put}/steps?at=${index}`, `[data-testid=step-op][data-step="${index}"]`)
        await watched.shows('[data-testid=step-slot]')
        for (const name of await page.locator('[data-testid=step-slot]').allInnerTexts()) names.add(name)
        expect(await page.locator('[data-testid=hint]').first().textContent()).toMatch(/^slot, value: writes storage/)
      }
      expect([...names].sort()).toEqual([
        ['shares', 'since', 'open'].map((member) => `accounts[0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266][7].${member}`).join(', '),
        'history',
        'history[0]',
        'low, high',
      ])
      await watched.open(`/tx/${made.put}/storage`, '[data-testid=heat-row] .slot-name:has-text("history")')
      expect(watched.bad).toEqual([])
    })
  })

  await describeInBrowser('the explorer with artifacts of the reader', (browser) => {
    const folder = tempHome()
    let node: RunningNode
    let dev: Calls
    let watched: Watched
    let page: Page
    const HOSTILE = '<img src=x onerror="globalThis.hit=1">'
    const DIRECTION = '\u202e\u2066\u0000\u001b[2J'
    beforeAll(async () => {
      node = await startNode(['dev'])
      dev = new Calls(node.url)
      watched = await watchedPage(browser().browser, node.url)
      page = watched.page
    }, BROWSER_MS_MAX)
    afterAll(async () => {
      await node?.stop()
      fs.rmSync(folder, { recursive: true, force: true })
      compiled.project.remove()
    })
    const give = async (files: Readonly<Record<string, string>>): Promise<void> => {
      for (const [name, text] of Object.entries(files)) {
        const file = path.join(folder, name)
        fs.mkdirSync(path.dirname(file), { recursive: true })
        fs.writeFileSync(file, text)
      }
      await (page.locator('[data-testid=artifacts-input]') as unknown as { setInputFiles(folder: string): Promise<void> }).setInputFiles(
        folder,
      )
    }

    it('takes a folder, names its contracts, and sends nothing of it', async () => {
      const made = await deploy(compiled.artifacts, dev)
      await watched.open(`/tx/${made.failed}/lines`, '[data-testid=give-artifacts]')
      const before = watched.requests.length
      fs.cpSync(compiled.artifacts, path.join(folder, 'out'), { recursive: true })
      await give({ [SOURCE]: fs.readFileSync(compiled.source, 'utf8') })
      await watched.shows('[data-testid=gas-line]')
      expect(await page.locator('[data-testid=reason]').first().textContent()).toContain('TooBig(asked: 5000')
      // The page loads its own scripts and sends JSON-RPC; neither route of artifacts is used.
      const sent = watched.requests.slice(before).map((url) => url.slice(node.url.length))
      expect(sent.filter((url) => !/^\/($|_\/assets\/)/.test(url))).toEqual([])
      fs.rmSync(folder, { recursive: true })
    })

    it('keeps hostile names, sources and files as text', async () => {
      // PUSH1 0, PUSH1 0, REVERT.
      const code = '60006000fd'
      const contract = (
        await dev.call<{ contractAddress: string }>(
          'eth_getTransactionReceipt',
          await dev.send(ALICE, undefined, { data: deploying(code), gas: '0x186a0' }),
        )
      ).contractAddress
      const hash = await dev.send(ALICE, contract, { data: '0x12345678', gas: '0x186a0' })
      await watched.open(`/tx/${hash}/lines`, '[data-testid=give-artifacts]')
      const name = `${HOSTILE}</script><script>${DIRECTION}`
      const source = `../../${HOSTILE}${DIRECTION}.sol`
      const text = `// ${HOSTILE}${DIRECTION}${'A'.repeat(100_000)}\n${HOSTILE}\n`
      const build = {
        _format: 'hh-sol-build-info-1',
        id: '__proto__',
        input: { sources: { [source]: { content: text } } },
        output: {
          sources: { [source]: { id: 0 } },
          contracts: {
            [source]: {
              [name]: {
                abi: [
                  { type: 'function', name: 'a'.repeat(10_000), inputs: [] },
                  { type: 'error', name: HOSTILE, inputs: [] },
                  { type: 'function', name: 'constructor', inputs: [{ type: 'address', name: 'address' }] },
                  null,
                  7,
                ],
                evm: { deployedBytecode: { object: code, sourceMap: '0:9999999:0;5:1:0;-1:x:0;;' }, bytecode: { object: 'zz' } },
                storageLayout: { storage: [{ label: HOSTILE, slot: '0', offset: 0, type: '__proto__' }], types: { __proto__: null } },
              },
            },
          },
        },
      }
      await give({
        'artifacts/build-info/a.json': JSON.stringify(build),
        'artifacts/b.json': '{"_format": "hh-sol-build-info-1"',
        'artifacts/c.json': '[]',
      })
      await watched.shows('[data-testid=artifacts-said], [data-testid=hot-line]')
      await watched.open(`/tx/${hash}`, '[data-testid=frame-row]').catch(() => undefined)
      expect(await page.evaluate<unknown>('globalThis.hit ?? null')).toBeNull()
      const tags = await page.evaluate<string[]>(
        `[...new Set([...document.body.querySelectorAll('*')].map((e) => e.tagName.toLowerCase()))]`,
      )
      expect(tags.filter((tag) => ['img', 'script', 'iframe', 'object', 'embed', 'base', 'link', 'style'].includes(tag))).toEqual([])
      expect(watched.bad).toEqual([])
    })

    it('says which files were broken, and shows hostile text escaped', async () => {
      const [hash] = [await latest(dev)]
      await watched.open(`/tx/${hash}/lines`, '[data-testid=give-artifacts]')
      await give({})
      await watched.shows('[data-testid=hot-line]')
      expect(await page.locator('[data-testid=artifact-problems]').first().textContent()).toMatch(/artifacts\/b\.json: the file is no JSON/)
      const shown = await page.locator('[data-testid=annotated]').first().textContent()
      expect(shown).toContain(HOSTILE)
      expect(shown).toContain('\\u{202e}\\u{2066}\\u{0}\\u{1b}[2J')
      expect(shown).not.toMatch(/[\u202e\u2066\u0000\u001b]/)
      await page.locator('[data-testid=tab-calls]').first().click()
      await watched.shows('[data-testid=frame-row]')
      const row = await page.locator('[data-testid=frame-row]').first().textContent()
      expect(row).toContain('<img src=x onerror=')
      expect(row).not.toMatch(/[\u202e\u2066\u0000\u001b]/)
      await page.locator('[data-testid=tab-steps]').first().click()
      await watched.shows('[data-testid=source-line]')
      expect(await page.evaluate<unknown>('globalThis.hit ?? null')).toBeNull()
      const links = await page.evaluate<string[]>(`[...document.querySelectorAll('a[href]')].map((a) => a.getAttribute('href'))`)
      expect(links.filter((href) => !/^\/(block|tx|address|call|compare|tracer)?(\/|$|\?)/.test(href))).toEqual([])
      expect(watched.bad).toEqual([])
    })
  })
}

/** The newest transaction. */
async function latest(dev: Calls): Promise<string> {
  const { transactions } = await dev.block()
  return transactions[0] as string
}
