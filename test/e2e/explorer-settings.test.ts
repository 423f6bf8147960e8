// What the explorer shows where the node refuses: it names the setting and what would help, and
// continues by itself as soon as it can; and what of it is there while it is off.
import fs from 'node:fs'
import http from 'node:http'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FAILED, SWAP } from '../browser/demo.mjs'
import { ALICE, BOB, Calls } from './dev-calls.ts'
import { missing, startAnvil } from './dev-node.ts'
import {
  BROWSER_MS_MAX,
  closeBrowserAfterAll,
  describeInBrowser,
  IS_FULL,
  PAGE_MS_MAX,
  type Watched,
  watchedPage,
} from './explorer-browser.ts'
import { type RunningNode, startNode, tempHome } from './harness.ts'

/** How soon a new block shows, in milliseconds. */
const BLOCK_MS_MAX = 1000

const HTML = { accept: 'text/html,application/xhtml+xml' }

const home = tempHome()
beforeAll(async () => {
  const node = await startNode(['dev', '--demo', '--home', home])
  expect(await node.stop()).toBe(0)
})
afterAll(() => fs.rmSync(home, { recursive: true, force: true }))

/** A GET whose path and host are sent as they are. */
function get(
  url: string,
  target: string,
  headers: Record<string, string> = {},
): Promise<{ status: number; body: string; type: string | undefined }> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url)
    const request = http.get({ host: hostname, port, path: target, headers, agent: false }, (response) => {
      let body = ''
      response.on('data', (data: Buffer) => {
        body += data.toString()
      })
      response.on('end', () => resolve({ status: response.statusCode as number, body, type: response.headers['content-type'] }))
    })
    request.on('error', reject)
  })
}

describe('row 12: the explorer', () => {
  it('is off under hearth start: nothing of it is served', async () => {
    const node = await startNode(['start', '--home', home])
    const [plain, page] = [await get(node.url, '/'), await get(node.url, '/', HTML)]
    expect(page).toEqual(plain)
    expect(plain.status).toBe(200)
    for (const target of [`/tx/${FAILED}`, '/block/1', '/_/status', '/_/assets/main.js', '/_/source/1'])
      expect((await get(node.url, target, HTML)).status, target).toBe(404)
    expect(await node.stop()).toBe(0)
  })

  it('answers requests for HTML alone, under allowed host names', async () => {
    const [off, node] = [await startNode(['start', '--home', home]), undefined]
    const plain = await get(off.url, '/')
    expect(await off.stop()).toBe(0)
    expect(node).toBeUndefined()
    const on = await startNode(['start', '--home', home, '--evm.explorer=true'])
    const [bare, page] = [await get(on.url, '/', { accept: '*/*' }), await get(on.url, '/', HTML)]
    expect([bare.status, bare.type, bare.body.length]).toEqual([200, plain.type, plain.body.length])
    expect([page.status, page.type]).toEqual([200, 'text/html; charset=utf-8'])
    const asset = /\/_\/assets\/[^"]+\.js/.exec(page.body)?.[0] as string
    for (const target of ['/', `/tx/${FAILED}`, asset, '/_/status'])
      expect((await get(on.url, target, { ...HTML, host: 'evil.example' })).status, target).toBe(403)
    expect((await get(on.url, asset, HTML)).status).toBe(200)
    for (const target of ['/_/source/../../etc/passwd', '/_/source/%2e%2e%2fx', '/_/assets/../index.html', '/_/nosuch', '/tx/a/b/c'])
      expect((await get(on.url, target, HTML)).status, target).toBe(404)
    expect(await on.stop()).toBe(0)
  })
})

closeBrowserAfterAll()
await describeInBrowser('the explorer', (browser) => {
  /** Runs a test on a node with settings, and a page of it. */
  const on = async (
    args: readonly string[],
    test: (view: Watched, node: RunningNode) => Promise<void>,
    options: object = {},
  ): Promise<void> => {
    const node = await startNode([...args])
    const view = await watchedPage(browser().browser, node.url, options)
    try {
      await test(view, node)
      expect(view.bad).toEqual([])
    } finally {
      await view.page.close()
      await node.stop()
    }
  }
  const start = (...settings: string[]): string[] => ['start', '--home', home, '--evm.explorer=true', ...settings]
  const trouble = (view: Watched, id: string): Promise<void> => view.shows(`[data-testid=trouble][data-trouble=${id}]`)
  const said = (view: Watched): Promise<string | null> => view.page.locator('[data-testid=trouble]').first().textContent()
  /** Whether the page has something to read. */
  const isFilled = async (view: Watched): Promise<boolean> => ((await view.page.locator('main').textContent()) ?? '').length > 40

  it(
    'row 12: asks for a token, which is in no address and no log',
    async () => {
      const file = path.join(home, 'tokens')
      const token = 'a-token-of-the-test-0123456789'
      fs.writeFileSync(file, `${token}\n`, { mode: 0o600 })
      await on(start(`--evm.auth_token_file=${file}`, '--log.level=debug'), async (view, node) => {
        await view.open(`/tx/${FAILED}`, '[data-testid=token]')
        expect(await said(view)).toContain('evm.auth_token_file or evm.auth_jwt_file guards what this page needs')
        expect(await view.page.content()).not.toContain('transferFrom')
        await view.page.locator('[data-testid=token]').fill('a wrong one')
        await view.page.keyboard.press('Enter')
        await view.shows('[data-testid=trouble]:has-text("does not take this token")')
        await view.page.locator('[data-testid=token]').fill(token)
        await view.page.keyboard.press('Enter')
        await view.shows('[data-testid=failure-link]')
        // The token stays with the tab.
        await view.page.reload()
        await view.shows('[data-testid=failure-link]')
        await view.open('/', '[data-testid=block-row]')
        await view.shows('[data-testid=health]')
        await view.shows('[data-testid=head][data-state=polling]')
        expect(view.requests.filter((url) => url.includes(token))).toEqual([])
        expect(node.log()).not.toContain(token)
      })
    },
    BROWSER_MS_MAX,
  )

  it.skipIf(!IS_FULL)('row 13: says which namespace, denied method or tracer is off', async () => {
    await on(start('--evm.namespaces=eth,net,web3'), async (view) => {
      await view.open(`/tx/${SWAP}`, '[data-trouble=method-off]')
      expect(await said(view)).toContain('evm.namespaces leaves out debug')
      await view.open('/', '[data-testid=block-row]')
    })
    await on(start('--evm.namespaces=debug'), async (view) => {
      await view.open('/', '[data-trouble=method-off]')
      expect(await said(view)).toContain('evm.namespaces leaves out eth')
    })
    await on(start('--evm.deny_list=debug_traceStepIndex'), async (view) => {
      await view.open(`/tx/${SWAP}`, '[data-testid=frame-row]')
      await view.open(`/tx/${SWAP}/steps`, '[data-trouble=method-off]')
      expect(await said(view)).toContain('evm.deny_list names the method')
    })
    await on(start('--evm.trace_allowed_tracers=callTracer'), async (view) => {
      await view.open(`/tx/${SWAP}`, '[data-testid=frame-row]')
      for (const at of ['steps', 'state', 'storage', 'balances', 'raw']) {
        await view.open(`/tx/${SWAP}/${at}`, 'main .trouble, main .card:not(:has(.facts))')
        await view.page.locator('main:not(:has(.wait))').waitFor({ timeout: PAGE_MS_MAX })
        expect(await isFilled(view)).toBe(true)
        if (at !== 'raw' && at !== 'balances') expect(await said(view)).toContain('The setting evm.trace_allowed_tracers leaves it out')
      }
    })
  })

  it.skipIf(!IS_FULL)('row 13: says how old a block may be, and what is not here', async () => {
    await on(start('--evm.trace_source=history', '--evm.max_trace_lookback_blocks=1'), async (view) => {
      await view.open(`/tx/${FAILED}`, '[data-trouble=lookback]')
      expect(await said(view)).toContain('evm.max_trace_lookback_blocks says how far below the head blocks are traced')
      for (const [at, id, text] of [
        ['/block/99', 'unknown-block', 'The newest block is 13: block 99 does not exist yet.'],
        [`/block/0x${'12'.repeat(32)}`, 'unknown-block', 'No block of this chain has that hash'],
        ['/block/nonsense', 'bad-block', 'A block is named by its height, its hash'],
        [`/tx/0x${'12'.repeat(32)}`, 'unknown-transaction', 'It may be on another chain, not yet mined'],
        ['/tx/0x12', 'bad-hash', 'A hash is 0x and 64 hex digits; this has 4 characters.'],
        ['/address/0x12', 'bad-address', 'An address is 0x and 40 hex digits.'],
      ] as const) {
        await view.open(at, `[data-trouble=${id}]`)
        expect(await said(view)).toContain(text)
      }
      await view.page.locator('[data-testid=search]').fill('nonsense')
      await view.page.keyboard.press('Enter')
      await view.shows('[data-testid=search-said]:has-text("Type a transaction or block hash")')
    })
  })

  it.skipIf(!IS_FULL)('row 13: says that a height is pruned', async () => {
    await on(start(), async (view) => {
      // The answer of a node that keeps no capsules of the block (crates/home/src/error.rs).
      const message = 'block 8 was pruned: capsules are kept from block 12 on'
      await view.page.route('**/*', async (route) => {
        if (route.request().postData()?.includes('debug_traceTransaction') !== true) return route.continue()
        const headers = { 'content-type': 'application/json' }
        return route.fulfill({ status: 200, headers, body: JSON.stringify({ jsonrpc: '2.0', id: 1, error: { code: -32000, message } }) })
      })
      await view.open(`/tx/${FAILED}`, '[data-trouble=pruned]')
      expect(await said(view)).toContain('state-commit.flatkv.state_history_blocks')
      expect(await said(view)).toContain(message)
    })
  })

  it.skipIf(!IS_FULL)('row 13: waits out the rate limit', async () => {
    await on(
      start('--evm.rate_limiting_enabled=true', '--evm.ip_rate_limit_rps=2', '--evm.ip_rate_limit_burst=3', '--evm.batch_request_limit=1'),
      async (view) => {
        await view.open(`/tx/${FAILED}`, '[data-testid=limited]')
        expect(await view.page.locator('[data-testid=limited]').textContent()).toMatch(/The node limits requests: going on in \d+ s/)
        await view.shows('[data-testid=failure-link]')
      },
    )
  })

  it.skipIf(!IS_FULL)('row 13: works with a debug port, a fork and no WebSocket', async () => {
    const debug = 18_700 + (process.pid % 200)
    await on(
      start(`--evm.debug_port=${debug}`),
      async (view) => {
        await view.open(`/tx/${FAILED}`, '[data-testid=failure-link]')
        await view.open(`/tx/${FAILED}/steps`, '[data-testid=step-row]')
        expect(view.requests).toContain(`http://127.0.0.1:${debug}/`)
      },
      { also: [`http://127.0.0.1:${debug}/`] },
    )
    const origin = await startNode(['dev', '--demo'])
    await on(['dev', '--fork-url', origin.url], async (view) => {
      await view.open(`/tx/${FAILED}`, '[data-testid=failure-link]')
      await view.open('/', '[data-testid=block-row]')
    })
    expect(await origin.stop()).toBe(0)
  })

  const noAnvil = missing('anvil')
  if (noAnvil !== undefined) console.log(`skipped: the explorer of a fork of anvil: ${noAnvil}`)
  it.skipIf(!IS_FULL || noAnvil !== undefined)('row 13: works on a fork of an anvil', async () => {
    const anvil = await startAnvil()
    try {
      const there = new Calls(anvil.url)
      const sent = await there.send(ALICE, BOB, { value: '0x1' })
      await on(['dev', '--fork-url', anvil.url], async (view, node) => {
        const here = await new Calls(node.url).send(ALICE, BOB, { value: '0x2' })
        for (const hash of [sent, here]) {
          await view.open(`/tx/${hash}`, '[data-testid=frame-row]')
          expect(await view.page.locator('[data-testid=frame-row]').count()).toBe(1)
        }
        await view.open('/', '[data-testid=block-row][data-number="2"]')
        await view.open('/block/1', '[data-testid=tx-row]')
        await view.open(`/address/${BOB}`, '[data-testid=account-tx]')
      })
    } finally {
      await anvil.stop()
    }
  })

  it.skipIf(!IS_FULL).each([
    ['by WebSocket', [], 'live'],
    ['by WebSocket where no other page may open one', ['--evm.ws_origins='], 'live'],
    ['by polling where a WebSocket would need a token', [`--evm.auth_token_file=${path.join(home, 'token')}`], 'polling'],
  ] as const)('row 13: shows a new block within a second, %s', async (_, settings, state) => {
    const token = 'a-token-of-the-test-0123456789'
    fs.writeFileSync(path.join(home, 'token'), `${token}\n`, { mode: 0o600 })
    await on(['dev', ...settings], async (view, node) => {
      if (state === 'polling') await view.page.addInitScript(`sessionStorage.setItem('hearth-token', '${token}')`)
      await view.open('/', `[data-testid=head][data-state=${state}]`)
      const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` }
      const send = async (): Promise<void> => {
        const params = [{ from: ALICE, to: BOB, value: '0x1' }]
        const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_sendTransaction', params })
        expect(await (await fetch(node.url, { method: 'POST', headers, body })).json()).toHaveProperty('result')
      }
      await view.page.evaluate(`{
        globalThis.seen = new Map()
        new MutationObserver(() => {
          for (const row of document.querySelectorAll('[data-testid=block-row]')) {
            const n = row.dataset.number
            if (!seen.has(n)) seen.set(n, Date.now())
          }
        }).observe(document.body, { subtree: true, childList: true, attributes: true })
      }`)
      for (let round = 1; round <= 3; round++) {
        const sent = Date.now()
        await send()
        await view.shows(`[data-testid=block-row][data-number="${round}"]`)
        expect((await view.page.evaluate<number>(`seen.get('${round}')`)) - sent).toBeLessThan(BLOCK_MS_MAX)
      }
    })
  })

  it.skipIf(!IS_FULL)('row 13: says that it needs JavaScript where that is off', async () => {
    await on(
      ['dev'],
      async ({ page }, node) => {
        await page.goto(node.url)
        expect(await page.locator('body').textContent()).toContain('This page needs JavaScript')
      },
      { javaScriptEnabled: false },
    )
  })

  it.skipIf(!IS_FULL)('row 13: says that the node is gone, and goes on after it', async () => {
    const node = await startNode(['dev', '--home', path.join(home, 'gone')])
    const view = await watchedPage(browser().browser, node.url)
    await view.open('/', '[data-testid=head][data-state=live]')
    expect(await node.stop()).toBe(0)
    await view.shows('[data-testid=head][data-state=away]')
    await view.page.locator('[data-testid=search]').fill(FAILED)
    await view.page.keyboard.press('Enter')
    await trouble(view, 'no-answer')
    expect(await said(view)).toContain('It may have been stopped, or the connection to it is gone')
    await view.page.close()
  })

  it.skipIf(!IS_FULL)('row 15: says that a transaction left, with its old trace', async () => {
    await on(['dev'], async (view, node) => {
      const dev = new Calls(node.url)
      const moved = await dev.send(ALICE, BOB, { value: '0x1' })
      const gone = await dev.send(ALICE, BOB, { value: '0x2' })
      await view.open(`/tx/${gone}`, '[data-testid=frame-row]')
      await view.shows('[data-testid=head][data-state=live]')
      await dev.call('anvil_reorg', 1, [])
      await view.shows('[data-testid=left-chain][data-standing=gone]')
      expect(await view.page.locator('[data-testid=left-chain]').textContent()).toContain(
        'This transaction left the chain in a reorganisation',
      )
      expect(await view.page.locator('[data-testid=frame-row]').count()).toBe(1)
      await view.page.locator('[data-testid=left-chain] button').click()
      await view.shows('[data-trouble=pending]')
      // It waits in the pool, and is there again with the next block.
      await dev.call('evm_mine')
      await view.shows('[data-testid=frame-row]')
      await view.open(`/tx/${moved}`, '[data-testid=frame-row]')
    })
  })
})
