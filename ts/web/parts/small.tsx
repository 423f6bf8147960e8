// The small pieces that pages are made of.
import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { printable } from '../../explore/index.ts'
import { isAddress, isHash } from '../store/chain.ts'
import { names } from '../store/names.ts'
import { addressPath, txPath } from '../store/router.ts'
import { CopyIcon, DoneIcon } from './icons.tsx'

/** How long a button says that it has copied, in milliseconds. */
const COPIED_MS = 1200

export function Copy({ text, what }: { readonly text: string | (() => string); readonly what: string }): JSX.Element {
  const [done, setDone] = useState(false)
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(typeof text === 'string' ? text : text())
    setDone(true)
    setTimeout(() => setDone(false), COPIED_MS)
  }
  return (
    <button
      type="button"
      class="icon small"
      title={`Copy ${what}`}
      aria-label={`Copy ${what}`}
      onClick={() => void copy().catch(() => undefined)}
    >
      {done ? <DoneIcon /> : <CopyIcon />}
    </button>
  )
}

/**
 * Text of a contract: characters that could mislead are escapes, and its direction ends with it.
 */
export const Foreign = ({ text, whole = false }: { readonly text: string; readonly whole?: boolean }): JSX.Element => (
  <bdi class="foreign">{printable(text, whole)}</bdi>
)

/** A colour of its own for an address, so that eyes find it again. */
function swatch(address: string): string {
  const n = Number.parseInt(address.slice(2, 8), 16) || 0
  return `hsl(${n % 360} ${45 + (n % 30)}% ${45 + ((n >> 4) % 15)}%)`
}

export const shortHex = (hex: string, tail = 4): string => (hex.length <= 14 ? hex : `${hex.slice(0, 6)}…${hex.slice(-tail)}`)

/** An address with its colour: by its label, or short, or whole. */
export function Who({
  address,
  whole = false,
  copy = false,
}: {
  readonly address: string | null | undefined
  readonly whole?: boolean
  readonly copy?: boolean
}): JSX.Element {
  if (address == null) return <span class="faint">new contract</span>
  if (!isAddress(address)) return <Foreign text={address} />
  const label = names.value.label(address)
  const shown = whole ? address : shortHex(address)
  return (
    <span class="who" title={address}>
      <span class="swatch" style={{ background: swatch(address) }} aria-hidden="true" />
      <a href={addressPath(address)}>{label === undefined ? shown : <bdi>{whole ? `${label} ${address}` : label}</bdi>}</a>
      {copy && <Copy text={address} what="address" />}
    </span>
  )
}

/** A link to a transaction. */
export const TxLink = ({ hash }: { readonly hash: string }): JSX.Element =>
  isHash(hash) ? (
    <a class="mono nowrap" href={txPath(hash)} title={hash}>
      {`${hash.slice(0, 10)}…${hash.slice(-6)}`}
    </a>
  ) : (
    <Foreign text={hash} />
  )

export const Meter = ({ part }: { readonly part: number }): JSX.Element => (
  <span class="meter" aria-hidden="true">
    <i style={{ width: `${Math.min(100, Math.max(0, 100 * part))}%` }} />
  </span>
)

export const Fact = ({
  name,
  children,
  id,
}: {
  readonly name: string
  readonly children: ComponentChildren
  readonly id?: string
}): JSX.Element => (
  <div>
    <dt>{name}</dt>
    <dd {...(id === undefined ? {} : { 'data-testid': id })}>{children}</dd>
  </div>
)

export function Card({
  title,
  more,
  children,
  testid,
  className = '',
}: {
  readonly title?: ComponentChildren
  readonly more?: ComponentChildren
  readonly children: ComponentChildren
  readonly testid?: string
  readonly className?: string
}): JSX.Element {
  return (
    <section class={`card ${className}`} {...(testid === undefined ? {} : { 'data-testid': testid })}>
      {(title !== undefined || more !== undefined) && (
        <header>
          {title !== undefined && <h2>{title}</h2>}
          {more !== undefined && <div class="more">{more}</div>}
        </header>
      )}
      {children}
    </section>
  )
}

export const Wait = ({ what }: { readonly what: string }): JSX.Element => (
  <div class="wait" role="status">
    {what}
  </div>
)

export const Empty = ({ title, children }: { readonly title: string; readonly children?: ComponentChildren }): JSX.Element => (
  <div class="empty">
    <strong>{title}</strong>
    {children}
  </div>
)

/** Buttons of which one is pressed. */
export function Segments<T extends string>({
  options,
  value,
  onChange,
  label,
}: {
  readonly options: readonly (readonly [T, string])[]
  readonly value: T
  readonly onChange: (value: T) => void
  readonly label: string
}): JSX.Element {
  return (
    <fieldset class="segments" aria-label={label}>
      {options.map(([key, text]) => (
        <button key={key} type="button" aria-pressed={key === value} onClick={() => onChange(key)}>
          {text}
        </button>
      ))}
    </fieldset>
  )
}

/** Says, for readers of the page's state, that what the address names is drawn. */
export function usePainted(key: string | undefined): void {
  useEffect(() => {
    const root = document.documentElement
    if (key === undefined) {
      delete root.dataset.painted
      return
    }
    const frame = requestAnimationFrame(() => {
      root.dataset.painted = key
    })
    return () => cancelAnimationFrame(frame)
  }, [key])
}

/** A clock that ticks while its page is shown. */
export function useNow(everyMs = 1000): number {
  const [now, setNow] = useState(Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs)
    return () => clearInterval(timer)
  }, [everyMs])
  return now
}
