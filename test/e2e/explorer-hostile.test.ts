// Text of contracts in the explorer and in hearth trace: whatever its bytes are, it is shown as
// text, escaped, isolated and cut; nothing of it becomes markup, a link or a terminal's command.
import fs from 'node:fs'
import path from 'node:path'
import { keccak256, toBytes, toFunctionSelector } from 'viem'
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
import { hearth, type RunningNode, startNode, tempHome } from './harness.ts'

/** Strings that are markup, code, directions or commands elsewhere; what a reader sees of each. */
const PAYLOADS: readonly (readonly [name: string, bytes: Buffer, shown: string])[] = [
  ['an image', Buffer.from('<img src=x onerror="globalThis.hit=1">'), '<img src=x onerror='],
  ['a script', Buffer.from('</script><script>globalThis.hit=1</script>'), '</script><script>'],
  ['a link', Buffer.from('javascript:globalThis.hit=1'), 'javascript:globalThis.hit=1'],
  ['directions', Buffer.from('left\u202eright\u2066isolated'), 'left\\u{202e}right\\u{2066}isolated'],
  ['control characters', Buffer.from('nul\0bell\x07esc\x1b[2Jline\nend'), 'nul\\u{0}bell\\u{7}esc\\u{1b}[2Jline\\u{a}end'],
  ['a lone surrogate', Buffer.from([0x61, 0xed, 0xa0, 0x80, 0x62]), 'a'],
  ['a prototype', Buffer.from('__proto__'), '__proto__'],
]

const word = (n: number): string => n.toString(16).padStart(64, '0')

/** A string as the ABI has it, behind a selector. */
const string = (selector: string, bytes: Buffer): string =>
  `${selector.slice(2)}${word(32)}${word(bytes.length)}${bytes.toString('hex').padEnd(Math.ceil(bytes.length / 32) * 64, '0')}`

const [SAY, BAD, ERROR] = [toFunctionSelector('say(string)'), toFunctionSelector('Bad(string)'), '0x08c379a0']
const SAID = keccak256(toBytes('Said(string)'))
const SIGNATURES = 'function say(string text) returns (string said)\nevent Said(string text)\nerror Bad(string text)'

/** Code that emits Said(string) and returns or reverts with some bytes. */
function speaking(data: string, reverts: boolean): string {
  /** Bytes of the code before the data. */
  const head = 50
  const length = (data.length / 2).toString(16).padStart(4, '0')
  const event = `7f${SAID.slice(2)}816000a1`
  const code = `61${length}8061${head.toString(16).padStart(4, '0')}600039${event}6000${reverts ? 'fd' : 'f3'}`
  expect(code.length).toBe(2 * head)
  return code + data
}

/** Everything that a page may hold; anything else came out of a contract. */
const TAGS = `html head meta title link script body div span a button header main nav section search form input label h1 h2 h3 p ol ul li
  dl dt dd table thead tbody tr th td bdi code pre small strong b i em kbd svg g path circle rect line polyline polygon canvas details
  summary fieldset legend dialog textarea select option template noscript style time`.split(/\s+/)

/** What of a document must not be. */
const ALIEN = `(() => {
  const known = new Set(${JSON.stringify(TAGS)})
  const found = []
  for (const e of document.querySelectorAll('*')) {
    if (!known.has(e.tagName.toLowerCase())) found.push(e.tagName)
    for (const { name, value } of e.attributes) {
      if (/^on/i.test(name)) found.push(e.tagName + ' ' + name)
      if ((name === 'href' || name === 'src' || name === 'action') && !/^(\\/[^/]|\\/$)/.test(value)) found.push(name + '=' + value)
    }
  }
  if (document.scripts.length !== 1) found.push('scripts: ' + document.scripts.length)
  if (globalThis.hit !== undefined || ({}).hit !== undefined) found.push('hit')
  return found
})()`

/** Characters that would move a reader's eyes or terminal: none may reach the page as itself. */
const RAW = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]|[\ud800-\udbff](?![\udc00-\udfff])/

closeBrowserAfterAll()
await describeInBrowser('row 11: hostile text', (browser) => {
  let node: RunningNode
  let dev: Calls
  let view: Watched
  /** A page without a policy, which reads files. */
  let reader: Page
  const home = tempHome()
  const text = (): Promise<string> => view.page.evaluate('document.body.innerText')
  const send = async (code: string, data: string): Promise<string> => {
    const made = await dev.send(ALICE, undefined, { gas: '0xf4240', data: deploying(code) })
    const { contractAddress } = await dev.call<{ contractAddress: string }>('eth_getTransactionReceipt', made)
    return dev.send(ALICE, contractAddress, { gas: '0xe00000', data })
  }
  const clean = async (): Promise<void> => {
    expect(await view.page.evaluate(ALIEN)).toEqual([])
    expect(await text()).not.toMatch(RAW)
    expect(view.bad).toEqual([])
  }
  beforeAll(async () => {
    node = await startNode(['dev'])
    dev = new Calls(node.url)
    view = await watchedPage(browser().browser, node.url)
    reader = await browser().browser.newPage()
    fs.writeFileSync(path.join(home, 'signatures'), SIGNATURES)
    await view.open('/', '[data-testid=block-row]')
    await view.page.locator('[data-testid=names]').click()
    await view.page.locator('[data-testid=signatures]').fill(SIGNATURES)
    // Labels are text as well.
    await view.page.locator('[data-testid=labels]').fill(`${ALICE} <img src=x onerror="globalThis.hit=1">`)
    await view.page.locator('[data-testid=use-names]').click()
    await view.page.keyboard.press('Escape')
  }, BROWSER_MS_MAX)
  afterAll(async () => {
    expect(await node.stop()).toBe(0)
    fs.rmSync(home, { recursive: true, force: true })
  })

  it.each(PAYLOADS)('that is %s stays text in calls, events, results and errors', async (_, bytes, shown) => {
    const fine = await send(speaking(string('0x', bytes), false), `0x${string(SAY, bytes)}`)
    await view.open(`/tx/${fine}`, '[data-testid=frame-row]')
    await expect.poll(() => view.page.locator('.side').textContent(), { timeout: PAGE_MS_MAX }).toContain(shown)
    expect((await text()).split(shown).length).toBeGreaterThan(2)
    await clean()
    await view.open(`/tx/${fine}/events`, '[data-testid=event-row]')
    expect(await view.page.locator('[data-testid=event-row]').textContent()).toContain(shown)
    await clean()
    for (const at of ['flame', 'state', 'balances', 'storage', 'steps', 'raw']) {
      await view.open(`/tx/${fine}/${at}`, 'main .card')
      await view.page.locator('main:not(:has(.wait))').waitFor({ timeout: PAGE_MS_MAX })
      await clean()
    }
    for (const selector of [ERROR, BAD]) {
      const failed = await send(speaking(string(selector, bytes), true), `0x${string(SAY, bytes)}`)
      await view.open(`/tx/${failed}`, '[data-testid=reason]')
      const reason = view.page.locator('[data-testid=reason] bdi')
      expect(await reason.textContent()).toContain(shown)
      expect(await view.page.evaluate(`getComputedStyle(document.querySelector('[data-testid=reason] bdi')).unicodeBidi`)).toBe('isolate')
      await clean()
      const svg = path.join(home, 'flame.svg')
      const names = ['--signatures', path.join(home, 'signatures')]
      const { stdout, status } = hearth(['trace', '--rpc', node.url, ...names, failed])
      expect(status).toBe(0)
      expect(stdout.split('\n')[1]).toContain(shown)
      expect(stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/)
      expect(hearth(['trace', '--rpc', node.url, ...names, '--flame', svg, failed]).status).toBe(0)
      // An XML parser takes the picture, and finds no script in it.
      const parsed = await reader.evaluate<string[]>(`(() => {
        const tree = new DOMParser().parseFromString(${JSON.stringify(fs.readFileSync(svg, 'utf8'))}, 'image/svg+xml')
        return [...tree.querySelectorAll('*')].map((e) => e.tagName)
      })()`)
      expect(parsed).not.toContain('parsererror')
      expect(parsed.filter((tag) => !['svg', 'g', 'rect', 'text', 'title', 'style'].includes(tag))).toEqual([])
    }
  })

  it('of a megabyte is cut', async () => {
    const fill = `7f${'41'.repeat(32)}600052`
    // 32 bytes, doubled 15 times with MCOPY.
    const doubles = Array.from({ length: 15 }, (_, i) => {
      const size = (32 * 2 ** i).toString(16).padStart(6, '0')
      return `62${size}600062${size}5e`
    }).join('')
    const head = `7f${ERROR.slice(2).padEnd(64, '0')}600052602060045262100000602452`
    const hash = await send(`${fill}${doubles}${head}621000446000fd`, '0x')
    await view.open(`/tx/${hash}`, '[data-testid=reason]')
    const reason = (await view.page.locator('[data-testid=reason]').textContent()) as string
    expect(reason).toBe(`${'A'.repeat(256)}…`)
    expect(await text()).not.toContain('A'.repeat(257))
    await clean()
    expect(hearth(['trace', '--rpc', node.url, hash]).stdout.length).toBeLessThan(2000)
  })

  it('in the reader’s ABI is refused or shown as text', async () => {
    await view.open('/', '[data-testid=block-row]')
    await view.page.locator('[data-testid=names]').click()
    const abi = [
      { type: 'function', name: '<img src=x onerror="globalThis.hit=1">', inputs: [] },
      { type: 'function', name: '__proto__', inputs: [{ name: 'constructor', type: 'uint256' }], outputs: [] },
      { type: 'error', name: '../../x', inputs: [{ name: 'a', type: '</script>' }] },
    ]
    const file = { name: '../../x<img>.json', mimeType: 'application/json', buffer: Buffer.from(JSON.stringify(abi)) }
    await view.page.locator('[data-testid=abi-file]').setInputFiles(file)
    await view.shows('dialog [role=status]')
    await view.page.locator('[data-testid=use-names]').click()
    await expect.poll(() => view.page.locator('dialog [role=status]').textContent()).not.toMatch(/press Use/)
    await clean()
  })
})
