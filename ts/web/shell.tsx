// What is around every page: where one is, the search, the newest block, keys.
import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { grouped } from './parts/format.ts'
import { CloseIcon, KeysIcon, Mark, MoonIcon, SearchIcon, SunIcon, TagIcon } from './parts/icons.tsx'
import { late } from './parts/lazy.tsx'
import { isAddress, isHash, isHeight, isTag } from './store/chain.ts'
import { head, type LiveState, live } from './store/live.ts'
import { names } from './store/names.ts'
import { useResource } from './store/resource.ts'
import { addressPath, blockPath, go, route, txPath } from './store/router.ts'
import { limited, rpcOr } from './store/rpc.ts'
import { switchTheme, theme } from './store/theme.ts'

const NamesDialog = late(async () => (await import('./parts/names-dialog.tsx')).NamesDialog)

const LIVE_TEXT: Readonly<Record<LiveState, string>> = {
  connecting: 'connecting to the node',
  live: 'new blocks come by WebSocket',
  polling: 'the page asks for new blocks: it has no WebSocket',
  away: 'the node does not answer',
}

/** Where a search leads; a text where it leads nowhere. */
async function found(text: string): Promise<string | { readonly said: string }> {
  const word = text
    .trim()
    .toLowerCase()
    .replaceAll(/[,_\s]/g, '')
  if (isHeight(word) || isTag(word)) return blockPath(word)
  if (/^0x[0-9a-f]{1,13}$/.test(word) && word.length !== 10) return blockPath(Number(word))
  if (isAddress(word)) return addressPath(word)
  if (isHash(word)) {
    const [transaction, block] = await Promise.all([rpcOr('eth_getTransactionByHash', [word]), rpcOr('eth_getBlockByHash', [word, false])])
    return transaction == null && block != null ? blockPath(word) : txPath(word)
  }
  if (/^0x[0-9a-f]{8}$/.test(word)) {
    const known = names.value.functionsOf(word)
    return {
      said:
        known.length === 0
          ? `${word} is the selector of no function that is known here`
          : `${word} is the selector of ${known.join(' and ')}`,
    }
  }
  return { said: 'Type a transaction or block hash, a height, an address, or a selector of 4 bytes' }
}

function Search(): JSX.Element {
  const input = useRef<HTMLInputElement>(null)
  const [said, setSaid] = useState<string>()
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (
        event.key !== '/' ||
        event.target instanceof HTMLInputElement ||
        event.target instanceof HTMLTextAreaElement ||
        event.defaultPrevented
      )
        return
      event.preventDefault()
      input.current?.focus()
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [])
  const search = async (): Promise<void> => {
    const from = location.href
    const text = input.current?.value ?? ''
    const to = await found(text)
    // The reader has gone elsewhere meanwhile, or searches for something else.
    if (location.href !== from || input.current?.value !== text) return
    if (typeof to !== 'string') {
      setSaid(to.said)
      return
    }
    setSaid(undefined)
    if (input.current !== null) {
      input.current.value = ''
      input.current.blur()
    }
    go(to)
  }
  return (
    <search class="search">
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void search()
        }}
      >
        <SearchIcon />
        <input
          ref={input}
          data-testid="search"
          aria-label="Search for a transaction, block, address or selector"
          placeholder="Transaction, block, address, selector"
          autocomplete="off"
          spellcheck={false}
          onInput={() => setSaid(undefined)}
          onKeyDown={(event) => event.key === 'Escape' && input.current?.blur()}
        />
        <span class="kbd" aria-hidden="true">
          /
        </span>
      </form>
      {said !== undefined && (
        <div class="note said" role="status" data-testid="search-said">
          {said}
        </div>
      )}
    </search>
  )
}

/** Keys of every page and of those that have more. */
const KEYS: readonly (readonly [string, string])[] = [
  ['/', 'search; on the steps page, search the steps'],
  ['t', 'light or dark'],
  ['?', 'these keys'],
  ['↑ ↓', 'calls, steps: the row before, the next one'],
  ['← →', 'calls: fold, unfold'],
  ['j k', 'steps: the next step, the one before'],
  ['s', 'steps: into the next step'],
  ['o', 'steps: over the call'],
  ['O', 'steps: out of the call'],
  ['l L', 'steps: the next line of Solidity, over or into calls'],
  ['g', 'steps: go to a number'],
  ['G', 'steps: the last step'],
  ['n N', 'steps: the next hit of the search, the one before'],
]

export function Dialog({
  title,
  onClose,
  children,
}: {
  readonly title: string
  readonly onClose: () => void
  readonly children: ComponentChildren
}): JSX.Element {
  const ref = useRef<HTMLDialogElement>(null)
  useEffect(() => ref.current?.showModal(), [])
  return (
    <dialog ref={ref} onClose={onClose} aria-label={title}>
      <header>
        <h2>{title}</h2>
        <button type="button" class="icon" aria-label="Close" onClick={() => ref.current?.close()}>
          <CloseIcon />
        </button>
      </header>
      <div class="body">{children}</div>
    </dialog>
  )
}

function Head(): JSX.Element {
  const { value } = head
  const state = live.value
  return (
    <a class="head" href="/" title={LIVE_TEXT[state]} data-testid="head" data-state={state}>
      <span class={`dot ${state}`} aria-hidden="true" />
      <span class="hidden">{LIVE_TEXT[state]}; newest block </span>
      <span data-testid="head-number">{value === undefined ? '…' : grouped(Number(value.number))}</span>
    </a>
  )
}

export function Shell({ children }: { readonly children: ComponentChildren }): JSX.Element {
  const [open, setOpen] = useState<'keys' | 'names'>()
  const { value: chainId } = useResource('chain', async (signal) => await rpcOr<string>('eth_chainId', [], signal))
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const target = event.target
      const isTyping = target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement
      if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return
      if (event.key === '?') setOpen('keys')
      if (event.key === 't') switchTheme()
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [])
  const isDark = theme.value === 'dark'
  return (
    <>
      <header class="bar">
        <a class="brand" href="/">
          <Mark />
          <span class="word">Hearth</span>
          {chainId !== undefined && <span class="chain">chain {Number(chainId)}</span>}
          <span class="hidden">, the newest blocks</span>
        </a>
        <Search />
        <div class="right">
          <Head />
          <button
            type="button"
            class="icon"
            title="Labels and ABIs"
            aria-label="Labels and ABIs"
            onClick={() => setOpen('names')}
            data-testid="names"
          >
            <TagIcon />
          </button>
          <button
            type="button"
            class="icon"
            title={isDark ? 'Light' : 'Dark'}
            aria-label={isDark ? 'Light colours' : 'Dark colours'}
            onClick={switchTheme}
          >
            {isDark ? <SunIcon /> : <MoonIcon />}
          </button>
          <button type="button" class="icon" title="Keys" aria-label="Keys" onClick={() => setOpen('keys')}>
            <KeysIcon />
          </button>
        </div>
      </header>
      <main class="page" data-page={route.value.page}>
        {children}
      </main>
      {open === 'keys' && (
        <Dialog title="Keys" onClose={() => setOpen(undefined)}>
          <div class="keys">
            {KEYS.map(([key, text]) => (
              <>
                <span>
                  {key.split(' ').map((one) => (
                    <kbd key={one}>{one}</kbd>
                  ))}
                </span>
                <span>{text}</span>
              </>
            ))}
          </div>
        </Dialog>
      )}
      {open === 'names' && (
        <Dialog title="Labels and ABIs" onClose={() => setOpen(undefined)}>
          <NamesDialog />
        </Dialog>
      )}
      {limited.value !== undefined && (
        <div class="toast" role="status" data-testid="limited">
          The node limits requests: going on in {Math.ceil(limited.value / 1000)} s
        </div>
      )}
    </>
  )
}
