// Two traces side by side: calls of both, calls of one alone, and the first step at which the
// executions part.
import type { JSX } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { type ComparedCall, compareTrees, type Difference, type Frame, failure, target } from '../../explore/index.ts'
import { grouped } from '../parts/format.ts'
import { Card, Empty, Foreign, TxLink, usePainted, Wait } from '../parts/small.tsx'
import { Message, Trouble } from '../parts/trouble.tsx'
import { VirtualList } from '../parts/vlist.tsx'
import { isHash } from '../store/chain.ts'
import { names } from '../store/names.ts'
import { isCall, txPath } from '../store/router.ts'
import { rpc } from '../store/rpc.ts'
import { type StepIndex, type Trace, useTrace, useTransaction } from '../tx/load.ts'
import type { Step } from '../tx/step-store.ts'
import { useStyle } from './style.ts'

/** One of the two. */
export interface Side {
  readonly name: string
  /** Its hash, or the name of a call that is not mined. */
  readonly hash: string
  readonly trace: Trace
}

const ROW_HEIGHT = 28

/** Steps of one request. */
const PAGE_STEPS = 1000

interface Page {
  readonly steps: readonly Step[]
  readonly next?: number
}

/**
 * The first step at which two executions part; the number of steps of the shorter one where it is a
 * part of the other.
 */
async function parting(a: string, b: string): Promise<number | undefined> {
  const [indexA, indexB] = await Promise.all([a, b].map((hash) => rpc<StepIndex>('debug_traceStepIndex', [hash, {}])))
  if (indexA === undefined || indexB === undefined) return undefined
  const every = Math.max(indexA.every, indexB.every)
  const marksOf = ({ marks, every: own }: StepIndex): StepIndex['marks'] => marks.filter((_, i) => (i * own) % every === 0)
  const [marksA, marksB] = [marksOf(indexA), marksOf(indexB)]
  const isSame = (i: number): boolean => marksA[i]?.[0] === marksB[i]?.[0] && marksA[i]?.[1] === marksB[i]?.[1]
  let first = 0
  while (first < Math.min(marksA.length, marksB.length) && isSame(first)) first++
  // Between two marks that are equal there may be a detour: what parts at first lies before the
  // first mark that differs.
  for (let from = Math.max(0, (first - 1) * every); from < Math.max(indexA.steps, indexB.steps); ) {
    const read = (hash: string): Promise<Page> => rpc('debug_traceSteps', [hash, { from, to: from + PAGE_STEPS, fields: [] }])
    const [pageA, pageB] = (await Promise.all([read(a), read(b)])) as [Page, Page]
    const most = Math.max(pageA.steps.length, pageB.steps.length)
    for (let i = 0; i < most; i++) {
      const [stepA, stepB] = [pageA.steps[i], pageB.steps[i]]
      if (stepA === undefined || stepB === undefined || stepA.pc !== stepB.pc || stepA.frame !== stepB.frame || stepA.op !== stepB.op)
        return from + i
    }
    if (most < PAGE_STEPS && pageA.next === undefined && pageB.next === undefined) return undefined
    from += most
  }
  return undefined
}

const DIFFERENCES: Readonly<Record<Difference, string>> = {
  input: 'arguments',
  value: 'value',
  output: 'output',
  error: 'outcome',
  gas: 'gas',
  events: 'events',
}

function said(frame: Frame): string {
  if (frame.error !== undefined) return `✗ ${failure(frame, names.value)}`
  return frame.output === '0x' ? '' : `← ${names.value.bytes(frame.output)}`
}

/** What differs in a call of both, in words. */
function detail({ a, b, differs }: ComparedCall): string {
  if (a === undefined || b === undefined) return ''
  const parts: string[] = []
  if (differs.includes('input')) parts.push(`${names.value.call(a.input)} → ${names.value.call(b.input)}`)
  if (differs.includes('value')) parts.push(`value ${a.value} → ${b.value}`)
  if (differs.includes('error') || differs.includes('output')) parts.push(`${said(a) || 'nothing'} → ${said(b) || 'nothing'}`)
  if (differs.includes('events')) parts.push('events differ')
  return parts.join('; ').slice(0, 600)
}

export function Compared({ a, b }: { readonly a: Side; readonly b: Side }): JSX.Element {
  useStyle()
  const result = useMemo(() => compareTrees(a.trace.top, b.trace.top), [a.trace, b.trace])
  const [isAll, setAll] = useState(false)
  const [at, setAt] = useState<{ readonly step: number | undefined } | { readonly error: unknown } | 'running'>()
  const rows = useMemo(
    () => (isAll ? result.calls : result.calls.filter(({ a, b, differs }) => a === undefined || b === undefined || differs.length > 0)),
    [result, isAll],
  )
  const find = (): void => {
    setAt('running')
    parting(a.hash, b.hash).then(
      (step) => setAt({ step }),
      (error: unknown) => setAt({ error }),
    )
  }
  const row = (i: number): JSX.Element => {
    const call = rows[i] as ComparedCall
    const frame = (call.a ?? call.b) as Frame
    const kind = call.b === undefined ? 'only-a' : call.a === undefined ? 'only-b' : call.differs.length === 0 ? 'same' : 'differs'
    const gas = (call.b?.gasUsed ?? 0) - (call.a?.gasUsed ?? 0)
    const of = call.a === undefined ? b : a
    return (
      <div
        key={i}
        class={`crow ${kind}`}
        role="row"
        data-testid="compare-row"
        data-kind={kind}
        data-id={frame.id}
        data-differs={call.differs.join(' ')}
      >
        <span class="sign" role="gridcell">
          {kind === 'only-a' ? '−' : kind === 'only-b' ? '+' : kind === 'differs' ? '≠' : '='}
          <span class="hidden">{kind === 'only-a' ? `only ${a.name}` : kind === 'only-b' ? `only ${b.name}` : kind}</span>
        </span>
        <span class="call" role="gridcell" style={{ paddingLeft: `${Math.min(20, call.depth) * 14}px` }}>
          <a class="mono" href={txPath(of.hash, 'calls', { frame: frame.id })}>
            {frame.id}
          </a>{' '}
          <span class={`kind ${frame.kind}`}>{frame.kind}</span> <Foreign text={target(frame, names.value).slice(0, 300)} />
          {kind === 'differs' && <Foreign text={`  ${detail(call)}`} />}
        </span>
        <span class="what" role="gridcell">
          {call.differs
            .filter((one) => one !== 'gas')
            .map((one) => (
              <span key={one} class="chip warn">
                {DIFFERENCES[one]}
              </span>
            ))}
        </span>
        <span class={`num ${gas > 0 ? 'bad' : gas < 0 ? 'good' : 'faint'}`} role="gridcell" data-gas={gas}>
          {gas > 0 ? '+' : gas < 0 ? '−' : ''}
          {grouped(Math.abs(gas))}
        </span>
      </div>
    )
  }
  return (
    <Card
      title="Comparison"
      testid="comparison"
      more={
        <>
          <label class="nowrap">
            <input type="checkbox" checked={isAll} onChange={(event) => setAll(event.currentTarget.checked)} /> equal calls too
          </label>
          <button type="button" class="button small" disabled={at === 'running'} onClick={find} data-testid="find-parting">
            First step that differs
          </button>
        </>
      }
    >
      <div
        class="compare-said"
        data-testid="compare-said"
        data-only-a={result.onlyA}
        data-only-b={result.onlyB}
        data-changed={result.changed}
        data-equal={result.isEqual}
      >
        {result.isEqual ? (
          'The traces are equal: calls, data, results, events and gas.'
        ) : (
          <>
            {grouped(result.onlyA)} calls only in {a.name}, {grouped(result.onlyB)} only in {b.name}, {grouped(result.changed)} of both
            differ; gas {grouped(a.trace.top.gasUsed)} → {grouped(b.trace.top.gasUsed)}
          </>
        )}
        {at !== undefined && at !== 'running' && (
          <span role="status" data-testid="parting">
            {' '}
            {'error' in at ? (
              <bdi>{at.error instanceof Error ? at.error.message : String(at.error)}</bdi>
            ) : at.step === undefined ? (
              'Every step is at the same place of the same call in both.'
            ) : (
              <>
                The executions part at <a href={txPath(a.hash, 'steps', { at: at.step })}>step {grouped(at.step)}</a> (
                <a href={txPath(b.hash, 'steps', { at: at.step })}>{b.name}</a>).
              </>
            )}
          </span>
        )}
      </div>
      {rows.length === 0 ? (
        <Empty title="Nothing differs" />
      ) : (
        <VirtualList
          class="compared"
          count={rows.length}
          rowHeight={ROW_HEIGHT}
          row={row}
          fit
          attributes={{
            role: 'grid',
            tabIndex: 0,
            'aria-label': 'Calls that differ',
            'aria-rowcount': rows.length,
            'data-testid': 'compared',
          }}
        />
      )}
    </Card>
  )
}

function useSide(hash: string, name: string): { readonly side: Side | undefined; readonly said: JSX.Element | undefined } {
  const isValid = isHash(hash) && !isCall(hash)
  const { value: loaded, error, reload } = useTransaction(isValid ? hash : undefined)
  const trace = useTrace(hash, loaded?.tx.blockHash ?? undefined)
  if (!isValid)
    return {
      side: undefined,
      said: (
        <Message id="bad-hash" title="This is no transaction hash">
          <p>
            <Foreign text={hash} />
          </p>
        </Message>
      ),
    }
  const failed = error ?? trace.error
  if (failed !== undefined) return { side: undefined, said: <Trouble error={failed} retry={reload} /> }
  if (loaded === null || (loaded !== undefined && loaded.tx.blockHash === null))
    return {
      side: undefined,
      said: (
        <Message id="unknown-transaction" title="This node has not mined the transaction">
          <p class="mono">{hash}</p>
        </Message>
      ),
    }
  return { side: trace.value === undefined ? undefined : { name, hash, trace: trace.value }, said: undefined }
}

export function ComparePage({ a, b }: { readonly a: string; readonly b: string }): JSX.Element {
  const [first, second] = [useSide(a.toLowerCase(), 'the first'), useSide(b.toLowerCase(), 'the second')]
  const isDone = (first.side !== undefined && second.side !== undefined) || first.said !== undefined || second.said !== undefined
  usePainted(isDone ? `/compare/${a}/${b}` : undefined)
  document.title = 'Compare · Hearth'
  return (
    <>
      <div class="title">
        <div class="what">
          <h1>Compare</h1>
          <span class="who">
            <TxLink hash={a} /> with <TxLink hash={b} />
          </span>
        </div>
      </div>
      {first.said ??
        second.said ??
        (first.side === undefined || second.side === undefined ? (
          <Wait what="Tracing both transactions" />
        ) : (
          <Compared a={first.side} b={second.side} />
        ))}
    </>
  )
}
