// The calls of a transaction as a tree: rows in sight alone are drawn, one tab stop, arrows.
import type { JSX } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { type EventItem, type Frame, failureChain, isCreation, isFrame, markText, type Role, target } from '../../explore/index.ts'
import { ether, grouped } from '../parts/format.ts'
import { ArrowIcon } from '../parts/icons.tsx'
import { Card } from '../parts/small.tsx'
import { type ListHandle, VirtualList } from '../parts/vlist.tsx'
import { names } from '../store/names.ts'
import { setQuery } from '../store/router.ts'
import type { GasFacts, Trace } from './load.ts'

const ROW_HEIGHT = 28

/** Longest text of arguments in a row, in characters. */
const ARGUMENTS_MAX = 300

/** Guides of levels that are drawn; deeper rows are no further to the right. */
const GUIDES_MAX = 24

type Row = { readonly frame: number } | { readonly event: EventItem; readonly of: number; readonly place: number }

/** The rows that are not folded away. */
function rowsOf(trace: Trace, folded: ReadonlySet<number>, withEvents: boolean): Row[] {
  const rows: Row[] = []
  /** Items to come, the next one last. */
  const waiting: Row[] = [{ frame: 0 }]
  for (let row = waiting.pop(); row !== undefined; row = waiting.pop()) {
    rows.push(row)
    if (!('frame' in row) || folded.has(row.frame)) continue
    const frame = trace.frames[row.frame] as Frame
    const items: readonly (Frame | EventItem)[] = withEvents ? frame.items : frame.calls
    for (let i = items.length - 1; i >= 0; i--) {
      const item = items[i] as Frame | EventItem
      waiting.push(isFrame(item) ? { frame: trace.numbers.get(item) as number } : { event: item, of: row.frame, place: i })
    }
  }
  return rows
}

/** Places of a frame among its siblings, as screen readers say them. */
function siblings(trace: Trace): { readonly size: Int32Array; readonly place: Int32Array } {
  const size = new Int32Array(trace.frames.length).fill(1)
  const place = new Int32Array(trace.frames.length).fill(1)
  for (const { calls } of trace.frames) {
    for (const [i, call] of calls.entries()) {
      const n = trace.numbers.get(call) as number
      size[n] = calls.length
      place[n] = i + 1
    }
  }
  return { size, place }
}

const Guides = ({ depth }: { readonly depth: number }): JSX.Element => (
  <>
    {Array.from({ length: Math.min(GUIDES_MAX, depth) }, (_, i) => (
      <span key={i} class="guide" aria-hidden="true" />
    ))}
    {depth > GUIDES_MAX && <span class="faint">{depth} </span>}
  </>
)

function CallText({ frame, mark }: { readonly frame: Frame; readonly mark: string | undefined }): JSX.Element {
  const known = names.value
  const isNew = isCreation(frame.kind)
  const called = isNew ? '' : known.call(frame.input)
  const open = called.indexOf('(')
  const [fn, args] = [called.slice(0, open < 0 ? undefined : open), open < 0 ? '' : called.slice(open)]
  return (
    <>
      <span class={`kind ${frame.kind}`}>{frame.kind}</span>
      <span class="name">
        <span class="to">
          {isNew
            ? `new ${frame.to === undefined ? 'contract' : known.address(frame.to)}`
            : frame.to === undefined
              ? '?'
              : known.address(frame.to)}
        </span>
        {fn !== '' && <span class="to">::</span>}
        <bdi class="fn">{fn}</bdi>
        <bdi class="args">
          {isNew
            ? ` (${grouped((frame.input.length - 2) / 2)} bytes of code)`
            : args.length > ARGUMENTS_MAX
              ? `${args.slice(0, ARGUMENTS_MAX)}…`
              : args}
        </bdi>
      </span>
      {frame.value > 0n && <span class="value">{ether(frame.value)}</span>}
      {mark !== undefined && (
        <span class="mark">
          ✗ <bdi>{mark}</bdi>
        </span>
      )}
    </>
  )
}

interface Props {
  readonly trace: Trace
  readonly selected: number
  readonly gas: GasFacts | undefined
}

export function CallTree({ trace, selected, gas }: Props): JSX.Element {
  const [folded, setFolded] = useState<ReadonlySet<number>>(new Set())
  const [withEvents, setWithEvents] = useState(false)
  const list = useRef<ListHandle>(null)
  const rows = useMemo(() => rowsOf(trace, folded, withEvents), [trace, folded, withEvents])
  const beside = useMemo(() => siblings(trace), [trace])
  const chain = useMemo(() => failureChain(trace.top), [trace])
  const roles = useMemo(() => new Map<Frame, Role>(chain.map(({ frame, role }) => [frame, role])), [chain])
  const origin = chain[0]?.frame
  const all = Math.max(1, trace.top.gasUsed)
  const selectedRow = rows.findIndex((row) => 'frame' in row && row.frame === selected)
  useEffect(() => {
    if (selectedRow >= 0) {
      list.current?.show(selectedRow)
      return
    }
    // What is chosen elsewhere must be seen: the frames above it unfold.
    const open = new Set(folded)
    for (const n of folded) if (n < selected && selected < (trace.ends[n] as number)) open.delete(n)
    if (open.size !== folded.size) setFolded(open)
  }, [selected, selectedRow])
  const select = (n: number): void => setQuery({ frame: n === 0 ? undefined : (trace.frames[n] as Frame).id })
  const fold = (n: number, is: boolean): void => {
    const next = new Set(folded)
    if (is) next.add(n)
    else next.delete(n)
    setFolded(next)
  }
  const step = (by: number): void => {
    for (let i = selectedRow + by; i >= 0 && i < rows.length; i += Math.sign(by)) {
      const row = rows[i] as Row
      if ('frame' in row) {
        select(row.frame)
        return
      }
    }
  }
  const parentOf = (n: number): number => {
    const { depth } = trace.frames[n] as Frame
    let above = n
    while (above > 0 && (trace.frames[above] as Frame).depth >= depth) above--
    return above
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    const frame = trace.frames[selected] as Frame
    const isOpen = frame.items.length > 0 && !folded.has(selected)
    if (event.key === 'ArrowDown') step(1)
    else if (event.key === 'ArrowUp') step(-1)
    else if (event.key === 'Home') select(0)
    else if (event.key === 'End') select(rows.reduce((last, row) => ('frame' in row ? row.frame : last), 0))
    else if (event.key === 'ArrowRight') {
      if (folded.has(selected)) fold(selected, false)
      else if (frame.calls.length > 0) step(1)
    } else if (event.key === 'ArrowLeft') {
      if (isOpen && frame.calls.length > 0) fold(selected, true)
      else select(parentOf(selected))
    } else return
    event.preventDefault()
  }
  const frameRow = (n: number, index: number): JSX.Element => {
    const frame = trace.frames[n] as Frame
    const role = roles.get(frame)
    const own = n === 0 && gas !== undefined ? gas.rootOwn : frame.ownGas
    const items = withEvents ? frame.items.length : frame.calls.length
    return (
      <div
        key={n}
        id={`frame-${n}`}
        class="frow"
        role="row"
        data-testid="frame-row"
        data-id={frame.id}
        data-failed={frame.error !== undefined}
        data-origin={frame === origin}
        aria-rowindex={index + 1}
        aria-level={frame.depth + 1}
        aria-setsize={beside.size[n]}
        aria-posinset={beside.place[n]}
        aria-selected={n === selected}
        {...(items > 0 ? { 'aria-expanded': !folded.has(n) } : {})}
        title={target(frame, names.value).slice(0, 1000)}
        onClick={() => select(n)}
      >
        <span class="call" role="gridcell">
          <Guides depth={frame.depth} />
          <button
            type="button"
            tabIndex={-1}
            aria-hidden="true"
            class={`toggle${folded.has(n) ? '' : ' open'}`}
            style={{ visibility: items > 0 ? 'visible' : 'hidden' }}
            onClick={(event) => {
              event.stopPropagation()
              fold(n, !folded.has(n))
            }}
          >
            <ArrowIcon />
          </button>
          <CallText frame={frame} mark={frame.error === undefined ? undefined : markText(frame, role, names.value)} />
        </span>
        <span
          class="num own"
          role="gridcell"
          data-testid="own-gas"
          data-gas={own}
          title={n === 0 && gas === undefined ? 'with the intrinsic gas' : 'in the call itself'}
        >
          {grouped(own)}
        </span>
        <span class="num" role="gridcell" data-testid="gas" data-gas={frame.gasUsed}>
          {grouped(frame.gasUsed)}
        </span>
        <span class="share" role="gridcell">
          <span>
            <i style={{ width: `${(100 * frame.gasUsed) / all}%` }} />
            <i class="own" style={{ width: `${(100 * own) / all}%` }} />
          </span>
        </span>
      </div>
    )
  }
  const eventRow = ({ event, of, place }: Extract<Row, { event: EventItem }>, index: number): JSX.Element => (
    <div
      key={`${of}-${place}`}
      class="frow"
      role="row"
      data-testid="tree-event"
      aria-rowindex={index + 1}
      aria-level={(trace.frames[of] as Frame).depth + 2}
      aria-selected="false"
    >
      <span class="call" role="gridcell">
        <Guides depth={(trace.frames[of] as Frame).depth + 1} />
        <span class="toggle" />
        <span class="kind EVENT">emit</span>
        <span class="name">
          <span class="to">{names.value.address(event.address)}::</span>
          <bdi class="args">{names.value.event(event.topics, event.data).slice(0, ARGUMENTS_MAX)}</bdi>
        </span>
      </span>
    </div>
  )
  const row = (index: number): JSX.Element => {
    const here = rows[index] as Row
    return 'frame' in here ? frameRow(here.frame, index) : eventRow(here, index)
  }
  const foldable = trace.frames.flatMap(({ calls }, n) => (n > 0 && calls.length > 0 ? [n] : []))
  return (
    <Card
      title="Calls"
      more={
        <>
          {trace.events > 0 && (
            <label class="nowrap">
              <input
                type="checkbox"
                checked={withEvents}
                onChange={(event) => setWithEvents(event.currentTarget.checked)}
                data-testid="with-events"
              />{' '}
              with events
            </label>
          )}
          {foldable.length > 0 && (
            <button type="button" class="button small" onClick={() => setFolded(folded.size === 0 ? new Set(foldable) : new Set())}>
              {folded.size === 0 ? 'Fold all' : 'Unfold all'}
            </button>
          )}
        </>
      }
    >
      <div class="tree-head" aria-hidden="true">
        <span>
          {grouped(trace.frames.length)} {trace.frames.length === 1 ? 'call' : 'calls'}
        </span>
        <span>Own gas</span>
        <span>Gas used</span>
        <span>Share</span>
      </div>
      <VirtualList
        class="tree"
        count={rows.length}
        rowHeight={ROW_HEIGHT}
        row={row}
        handle={list}
        fit
        attributes={{
          role: 'treegrid',
          tabIndex: 0,
          'data-testid': 'tree',
          'aria-label': 'Calls of the transaction',
          'aria-rowcount': rows.length,
          'aria-activedescendant': `frame-${selected}`,
          onKeyDown,
        }}
      />
    </Card>
  )
}
