// The stepper: every opcode of a transaction of any size, a range at a time.
import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { type Frame, flameName, opcodeHint, opKind } from '../../explore/index.ts'
import { grouped } from '../parts/format.ts'
import { late } from '../parts/lazy.tsx'
import { Card, Empty, Foreign } from '../parts/small.tsx'
import { Trouble } from '../parts/trouble.tsx'
import { type ListHandle, VirtualList } from '../parts/vlist.tsx'
import { names } from '../store/names.ts'
import { query, setQuery, txPath } from '../store/router.ts'
import { rpc } from '../store/rpc.ts'
import type { Contracts } from '../tools/contracts.ts'
import type { StepIndex, Trace } from './load.ts'
import { type Where, whereOf } from './search.ts'
import { slotName, storageOf, usePreimages } from './slots.ts'
import { StepDetail } from './step-detail.tsx'
import { useSteps, useWholeStep } from './step-store.ts'
import { Strip } from './strip.tsx'

export interface StepsProps {
  readonly hash: string
  readonly block: string
  readonly trace: Trace
  readonly index: StepIndex
  readonly contracts: Contracts | undefined
}

const SourcePane = late(async () => (await import('../tools/source.tsx')).SourcePane, true)

const ROW_HEIGHT = 22

/** Steps that Page Up and Page Down move by. */
const PAGE_ROWS = 25

/** Keys that scroll what has the focus, as the memory of a step. */
const SCROLL_KEYS: ReadonlySet<string> = new Set(['ArrowDown', 'ArrowUp', 'PageDown', 'PageUp', 'Home', 'End'])

/** The innermost frame that a step lies in. */
export function frameAt({ frames }: StepIndex, step: number): number {
  let found = 0
  let depth = -1
  for (const [i, frame] of frames.entries()) {
    if (frame === null || step < frame[0] || step > frame[1] || frame[4] <= depth) continue
    found = i
    depth = frame[4]
  }
  return found
}

/** The step behind the call that begins with the next one; the next step where none does. */
export function stepOver(index: StepIndex, at: number): number {
  const here = frameAt(index, at)
  const next = frameAt(index, at + 1)
  const called = index.frames[next]
  return next !== here && called != null && called[0] === at + 1 && called[3] === here ? called[1] + 1 : at + 1
}

interface Hits {
  readonly hits: readonly { readonly index: number }[]
}

interface Hunt {
  readonly text: string
  readonly said: string | undefined
  readonly found: number | undefined
  readonly isRunning: boolean
}

/** The search of the stepper. */
function useHunt(hash: string, at: number, go: (step: number) => void): { hunt: Hunt; search: (text: string, backwards: boolean) => void } {
  const [hunt, setHunt] = useState<Hunt>({ text: '', said: undefined, found: undefined, isRunning: false })
  const running = useRef<AbortController | undefined>(undefined)
  // A hit that comes later would change the step in the address of another page.
  useEffect(() => () => running.current?.abort(), [])
  const search = (text: string, backwards: boolean): void => {
    const where = whereOf(text)
    if ('said' in where) {
      setHunt({ text, said: where.said, found: undefined, isRunning: false })
      return
    }
    running.current?.abort()
    const gone = new AbortController()
    running.current = gone
    setHunt({ text, said: undefined, found: undefined, isRunning: true })
    find(hash, where, backwards ? at - 1 : at + 1, backwards, gone.signal).then(
      (found) => {
        const direction = backwards ? 'before' : 'behind'
        setHunt({ text, found, isRunning: false, said: found === undefined ? `No such step ${direction} step ${grouped(at)}` : undefined })
        if (found !== undefined) go(found)
      },
      (e: unknown) => {
        if (!gone.signal.aborted) setHunt({ text, said: e instanceof Error ? e.message : String(e), found: undefined, isRunning: false })
      },
    )
  }
  return { hunt, search }
}

async function find(hash: string, where: Where, from: number, backwards: boolean, signal: AbortSignal): Promise<number | undefined> {
  if (from < 0) return undefined
  const { hits } = await rpc<Hits>('debug_traceStepSearch', [hash, { from, backwards, count: 1, where }], signal)
  return hits[0]?.index
}

function Crumbs({ hash, trace, index, frame }: Omit<StepsProps, 'contracts' | 'block'> & { readonly frame: number }): JSX.Element {
  const path: number[] = []
  for (let at: number | null | undefined = frame; at != null && path.length <= 1024; at = index.frames[at]?.[3]) path.unshift(at)
  const shown = path.length > 6 ? [...path.slice(0, 2), -1, ...path.slice(-3)] : path
  return (
    <nav class="crumbs" aria-label="Calls around this step" data-testid="crumbs">
      {shown.map((n, i) => {
        if (n < 0) return <span key="gap">› …</span>
        const call = trace.frames[n] as Frame | undefined
        return (
          <span key={n} class="who">
            {i > 0 && <span aria-hidden="true">›</span>}
            <a href={txPath(hash, 'calls', { frame: call?.id ?? '0' })}>
              <Foreign text={call === undefined ? `call ${n}` : flameName(call, names.value)} />
            </a>
          </span>
        )
      })}
    </nav>
  )
}

export function Steps({ hash, block, trace, index, contracts }: StepsProps): JSX.Element {
  const last = Math.max(0, index.steps - 1)
  const asked = Number(query.value.get('at') ?? 0)
  const at = Number.isSafeInteger(asked) ? Math.min(last, Math.max(0, asked)) : 0
  const list = useRef<ListHandle>(null)
  const searchField = useRef<HTMLInputElement>(null)
  const goField = useRef<HTMLInputElement>(null)
  const steps = useSteps(hash, index.steps)
  const { whole, error } = useWholeStep(hash, at)
  const preimages = usePreimages(hash, block)
  const nameOf = (slot: string): string | undefined => {
    const call = whole === undefined ? undefined : trace.frames[whole.step.frame]
    return call === undefined ? undefined : slotName(storageOf(call), slot, { preimages, contracts })
  }
  const go = (to: number): void => {
    const next = Math.min(last, Math.max(0, to))
    setQuery({ at: String(next) })
  }
  const { hunt, search } = useHunt(hash, at, go)
  const shown = useRef(-1)
  useEffect(() => {
    const isNear = shown.current >= 0 && Math.abs(at - shown.current) <= PAGE_ROWS
    shown.current = at
    list.current?.show(at, isNear ? 'nearest' : 'center')
  }, [at])
  const frame = frameAt(index, at)
  const out = (): void => go((index.frames[frame]?.[1] ?? last) + 1)
  const again = (backwards: boolean): void => {
    const text = searchField.current?.value ?? ''
    if (text !== '') search(text, backwards)
  }
  const keys: Readonly<Record<string, () => void>> = {
    j: () => go(at + 1),
    k: () => go(at - 1),
    ArrowDown: () => go(at + 1),
    ArrowUp: () => go(at - 1),
    PageDown: () => go(at + PAGE_ROWS),
    PageUp: () => go(at - PAGE_ROWS),
    Home: () => go(0),
    End: () => go(last),
    s: () => go(at + 1),
    o: () => go(stepOver(index, at)),
    O: out,
    g: () => goField.current?.select(),
    G: () => go(last),
    n: () => again(false),
    N: () => again(true),
    '/': () => searchField.current?.select(),
  }
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const { target } = event
      if (target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement || event.ctrlKey || event.metaKey || event.altKey)
        return
      if (document.querySelector('dialog[open]') !== null) return
      if (SCROLL_KEYS.has(event.key) && target instanceof Element && target.closest('.memory') !== null) return
      const act = keys[event.key]
      if (act === undefined) return
      event.preventDefault()
      act()
    }
    // Before the shell's own keys: / is the search of steps here.
    document.addEventListener('keydown', onKey, true)
    return () => document.removeEventListener('keydown', onKey, true)
  })
  if (index.steps === 0) {
    return (
      <Card title="Steps">
        <Empty title="This transaction ran no code">
          <span>It calls an account without code, or a precompiled contract.</span>
        </Empty>
      </Card>
    )
  }
  const row = (i: number): JSX.Element => {
    const step = steps.get(i)
    const kind = step === undefined ? 'waiting' : (opKind(step.op) ?? '')
    return (
      <div
        key={i}
        id={`step-${i}`}
        role="option"
        class={`srow${i === hunt.found ? ' found' : ''}`}
        data-testid="step-row"
        data-step={i}
        aria-selected={i === at}
        aria-posinset={i + 1}
        aria-setsize={index.steps}
        onClick={() => go(i)}
      >
        <span class="idx">{grouped(i)}</span>
        <span class="pc">{step?.pc}</span>
        <span class="d">{step?.depth}</span>
        <span
          class={`op ${step?.error === undefined ? kind : 'halt'}`}
          title={step === undefined ? undefined : opcodeHint(step.op)}
          style={step === undefined ? {} : { paddingLeft: `${Math.min(20, step.depth - 1) * 10}px` }}
        >
          {step?.op ?? '…'}
          {step?.error !== undefined && ` ✗ ${step.error}`}
        </span>
        <span class="num">{step === undefined ? '' : grouped(step.gasCost)}</span>
        <span class="num faint">{step === undefined ? '' : grouped(step.gas)}</span>
      </div>
    )
  }
  return (
    <div class="work">
      <Card
        title={
          <>
            Step{' '}
            <span data-testid="current-step" data-step={at}>
              {grouped(at)}
            </span>{' '}
            <span class="faint">of {grouped(index.steps)}</span>
          </>
        }
        more={
          <>
            <button type="button" class="button small" disabled={at === 0} onClick={() => go(at - 1)} title="k">
              Back
            </button>
            <button type="button" class="button small" disabled={at === last} onClick={() => go(at + 1)} title="s">
              Into
            </button>
            <button type="button" class="button small" disabled={at === last} onClick={() => go(stepOver(index, at))} title="o">
              Over
            </button>
            <button type="button" class="button small" disabled={at === last} onClick={out} title="O">
              Out
            </button>
            <form
              onSubmit={(event) => {
                event.preventDefault()
                const to = Number((goField.current?.value ?? '').replaceAll(/[,_\s]/g, ''))
                if (Number.isSafeInteger(to)) go(to)
                goField.current?.blur()
              }}
            >
              <input
                ref={goField}
                class="field"
                style={{ width: '110px', height: '26px' }}
                aria-label="Go to step"
                placeholder="Go to (g)"
                inputMode="numeric"
                data-testid="go-to"
              />
            </form>
          </>
        }
      >
        <Strip index={index} at={at} onGo={go} />
        <form
          class="steps-bar"
          onSubmit={(event) => {
            event.preventDefault()
            search(searchField.current?.value ?? '', false)
            searchField.current?.blur()
          }}
        >
          <input
            ref={searchField}
            class="field grow"
            aria-label="Search the steps"
            placeholder="Search (/): SSTORE, slot:0x0, address:0x…, pc:12, gas>=20000, error"
            data-testid="step-search"
            spellcheck={false}
            onKeyDown={(event) => event.key === 'Escape' && searchField.current?.blur()}
          />
          <button type="button" class="button small" onClick={() => again(true)} title="N">
            ↑
          </button>
          <button type="submit" class="button small" title="n">
            ↓
          </button>
          {(hunt.isRunning || hunt.said !== undefined) && (
            <span class="soft" role="status" data-testid="hunt">
              {hunt.isRunning ? 'Searching …' : hunt.said}
            </span>
          )}
        </form>
        <Crumbs hash={hash} trace={trace} index={index} frame={frame} />
        <div class="steps-head" aria-hidden="true">
          <span>Step</span>
          <span>pc</span>
          <span>Depth</span>
          <span>Opcode</span>
          <span class="num">Cost</span>
          <span class="num">Gas left</span>
        </div>
        {steps.error !== undefined && <Trouble error={steps.error} />}
        <VirtualList
          class="steps"
          count={index.steps}
          rowHeight={ROW_HEIGHT}
          row={row}
          onRange={steps.want}
          handle={list}
          attributes={{
            role: 'listbox',
            tabIndex: 0,
            'data-testid': 'steps',
            'aria-label': 'Steps of the transaction',
            'aria-activedescendant': `step-${at}`,
          }}
        />
      </Card>
      <div class="side">
        {contracts !== undefined && (
          <SourcePane
            hash={hash}
            trace={trace}
            index={index}
            contracts={contracts}
            at={at}
            pc={whole?.step.index === at ? whole.step.pc : undefined}
            onGo={go}
          />
        )}
        {error !== undefined ? <Trouble error={error} /> : <StepDetail whole={whole} nameOf={nameOf} />}
      </div>
    </div>
  )
}
