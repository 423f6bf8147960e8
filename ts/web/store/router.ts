// Where the reader is: the address of the page, and nothing beside it.
import { computed, signal } from '@preact/signals'

/** Views of a transaction, in the order of their tabs; the first one has no name in the address. */
export const VIEWS = ['calls', 'events', 'balances', 'state', 'flame', 'lines', 'storage', 'steps', 'raw'] as const
export type View = (typeof VIEWS)[number]

export type Route =
  | { readonly page: 'home' }
  | { readonly page: 'block'; readonly id: string }
  | { readonly page: 'tx'; readonly hash: string; readonly view: View }
  | { readonly page: 'address'; readonly address: string }
  | { readonly page: 'call'; readonly view: View }
  | { readonly page: 'compare'; readonly a: string; readonly b: string }
  | { readonly page: 'tracer' }
  | { readonly page: 'unknown'; readonly path: string }

interface Place {
  readonly path: string
  readonly query: string
}

const here = (): Place => ({ path: location.pathname, query: location.search })
const place = signal<Place>(here())

/** The route of a path. */
export function routeOf(path: string): Route {
  const [, page = '', id = '', view = ''] = path.split('/').map(decoded)
  if (path === '/') return { page: 'home' }
  if (page === 'block' && id !== '' && view === '') return { page, id }
  if (page === 'address' && id !== '' && view === '') return { page, address: id }
  if (page === 'compare' && view !== '') return { page, a: id, b: view }
  if (path === '/tracer') return { page: 'tracer' }
  const calls = page === 'call' ? (id === '' ? 'calls' : VIEWS.find((name) => name === id)) : undefined
  if (calls !== undefined && view === '') return { page: 'call', view: calls }
  const known = view === '' ? 'calls' : VIEWS.find((name) => name === view)
  if (page === 'tx' && id !== '' && known !== undefined) return { page, hash: id, view: known }
  return { page: 'unknown', path }
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

export const route = computed(() => routeOf(place.value.path))
export const query = computed(() => new URLSearchParams(place.value.query))

/** Goes to an address of this page. */
export function go(to: string, { replace = false }: { readonly replace?: boolean } = {}): void {
  const url = new URL(to, location.href)
  if (url.origin !== location.origin) return
  if (url.href === location.href) return
  const fresh = url.pathname !== location.pathname
  history[replace ? 'replaceState' : 'pushState'](null, '', url)
  place.value = here()
  if (fresh && !replace && pageOf(url.pathname) !== last) window.scrollTo(0, 0)
  last = pageOf(url.pathname)
}

const pageOf = (path: string): string => path.split('/').slice(0, 3).join('/')
let last = pageOf(location.pathname)

/** Changes values of the address's query; undefined takes one out. */
export function setQuery(values: Readonly<Record<string, string | undefined>>, replace = true): void {
  const next = new URLSearchParams(location.search)
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined) next.delete(name)
    else next.set(name, value)
  }
  const text = next.toString()
  go(`${location.pathname}${text === '' ? '' : `?${text}`}${location.hash}`, { replace })
}

/** Links within the page change the address without loading it again. */
export function followLinks(): void {
  window.addEventListener('popstate', () => {
    place.value = here()
    last = pageOf(location.pathname)
  })
  document.addEventListener('click', (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
    const link = event.target instanceof Element ? event.target.closest('a') : null
    const to = link?.getAttribute('href')
    if (link === null || to == null || !to.startsWith('/') || to.startsWith('//') || link.hasAttribute('download')) return
    event.preventDefault()
    go(to)
  })
}

export const txPath = (hash: string, view: View = 'calls', values: Readonly<Record<string, string | number>> = {}): string => {
  const text = new URLSearchParams(Object.entries(values).map(([name, value]) => [name, String(value)])).toString()
  const rest = `${view === 'calls' ? '' : `/${view}`}${text === '' ? '' : `?${text}`}`
  return isCall(hash) ? `/call${rest}#${hash.slice(CALL.length)}` : `/tx/${encodeURIComponent(hash)}${rest}`
}
/** What stands before the name of a call that is not mined, where a transaction has its hash. */
export const CALL = 'call:'
export const isCall = (hash: string): boolean => hash.startsWith(CALL)
export const blockPath = (id: string | number): string => `/block/${encodeURIComponent(id)}`
export const addressPath = (address: string): string => `/address/${encodeURIComponent(address)}`
