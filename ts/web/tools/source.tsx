// The line of Solidity that a step is of, and steps from line to line.
import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Line, SourceLines } from '../../explore/artifacts/index.ts'
import { type Frame, failureChain, isCreation, printable } from '../../explore/index.ts'
import { Card, Foreign } from '../parts/small.tsx'
import { useResource } from '../store/resource.ts'
import { txPath } from '../store/router.ts'
import { rpc } from '../store/rpc.ts'
import type { StepIndex, Trace } from '../tx/load.ts'
import type { Step } from '../tx/step-store.ts'
import { frameAt } from '../tx/steps.tsx'
import { type Contracts, lineAt } from './contracts.ts'
import { useStyle } from './style.ts'

/** Lines that are shown before and behind the one of the step. */
const AROUND = 7

/**
 * Steps of one request, and requests of one press: a million steps in a line are passed over in
 * several presses.
 */
const [PAGE_STEPS, PAGES_MAX] = [1000, 100]

/** Characters of a line that are shown. */
const COLUMNS_MAX = 400

interface Page {
  readonly steps: readonly Step[]
  readonly next?: number
}

/** The next step of another line: in the same call or above it where `over`, else anywhere. */
export async function nextLine(
  { hash, trace, index, contracts }: Subject,
  at: number,
  over: boolean,
  signal: AbortSignal,
): Promise<number> {
  const frame = frameAt(index, at)
  const { depth } = trace.frames[frame] as Frame
  let here: Line | undefined
  let from = at
  for (let page = 0; page < PAGES_MAX && from < index.steps; page++) {
    const to = Math.min(index.steps, from + PAGE_STEPS)
    const { steps, next }: Page = await rpc('debug_traceSteps', [hash, { from, to, fields: [] }], signal)
    for (const step of steps) {
      if (over && (trace.frames[step.frame] as Frame | undefined)?.depth !== undefined && (trace.frames[step.frame] as Frame).depth > depth)
        continue
      const line = await lineAt(contracts, trace, step.frame, step.pc)
      if (step.index === at) here = line
      else if (line !== undefined && (line.line !== here?.line || line.path !== here.path)) return step.index
    }
    from = next ?? to
  }
  return Math.min(index.steps - 1, from)
}

interface Subject {
  readonly hash: string
  readonly trace: Trace
  readonly index: StepIndex
  readonly contracts: Contracts
}

function useLines(contracts: Contracts, frame: number): SourceLines | undefined | null {
  const contract = contracts.of(frame)
  const { value } = useResource(
    contract === undefined ? undefined : `lines ${contract.id}`,
    async () => (await contracts.lines(contract as NonNullable<typeof contract>)) ?? null,
  )
  return contract === undefined ? null : value
}

/** A line with the part that a step is of marked. */
function Text({ text, line, mark }: { readonly text: string; readonly line: number; readonly mark: Line | undefined }): JSX.Element {
  const shown = printable(text.slice(0, COLUMNS_MAX).replaceAll('\t', '    '), true)
  if (mark === undefined || line < mark.from.line || line > mark.to.line || shown !== text) return <>{shown}</>
  const from = line === mark.from.line ? mark.from.column - 1 : text.length - text.trimStart().length
  const to = line === mark.to.line ? mark.to.column - 1 : text.length
  return (
    <>
      {shown.slice(0, from)}
      <mark>{shown.slice(from, to)}</mark>
      {shown.slice(to)}
    </>
  )
}

/** Lines around one. */
export function Excerpt({
  texts,
  path,
  line,
  mark,
  around = AROUND,
}: {
  readonly texts: readonly string[]
  readonly path: string
  readonly line: number
  readonly mark?: Line | undefined
  readonly around?: number
}): JSX.Element {
  const first = Math.max(1, line - around)
  // What is marked over many lines, such as a whole contract, is not marked at all.
  const marked = mark !== undefined && mark.to.line - mark.from.line <= around ? mark : undefined
  return (
    <pre class="source" data-testid="source" dir="ltr">
      {texts.slice(first - 1, line + around).map((text, i) => {
        const n = first + i
        return (
          <span
            key={n}
            class={`sline${n === line ? ' here' : ''}`}
            {...(n === line ? { 'data-testid': 'source-line', 'data-line': n, 'data-path': path } : {})}
          >
            <span class="ln">{n}</span>
            <bdi>
              <Text text={text} line={n} mark={marked} />
            </bdi>
            {'\n'}
          </span>
        )
      })}
    </pre>
  )
}

interface PaneProps extends Subject {
  readonly at: number
  /** Of the step; undefined while it is loaded. */
  readonly pc: number | undefined
  readonly onGo: (step: number) => void
}

export function SourcePane(props: PaneProps): JSX.Element | null {
  const { trace, index, contracts, at, pc, onGo } = props
  useStyle()
  const frame = frameAt(index, at)
  const contract = contracts.of(frame)
  const lines = useLines(contracts, frame)
  const running = useRef<AbortController | undefined>(undefined)
  const [isSeeking, setSeeking] = useState(false)
  /**
   * The last line of the frame: code of the compiler between two lines shows the line before it.
   */
  const last = useRef<{ frame: number; line: Line } | undefined>(undefined)
  const seek = (over: boolean): void => {
    running.current?.abort()
    const gone = new AbortController()
    running.current = gone
    setSeeking(true)
    nextLine(props, at, over, gone.signal)
      .then(onGo, () => undefined)
      .finally(() => running.current === gone && setSeeking(false))
  }
  useEffect(() => () => running.current?.abort(), [])
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const { target } = event
      if (target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement || event.ctrlKey || event.metaKey || event.altKey)
        return
      if (document.querySelector('dialog[open]') !== null || (event.key !== 'l' && event.key !== 'L')) return
      event.preventDefault()
      seek(event.key === 'l')
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  })
  if (contract === undefined) {
    return (
      <Card className="detail" title="Source" testid="source-pane">
        <p class="empty" data-testid="source-said">
          No artifact has the code of this contract.
        </p>
      </Card>
    )
  }
  const part = isCreation((trace.frames[frame] as Frame).kind) ? 'creation' : 'runtime'
  const line = pc === undefined ? undefined : lines?.at(part, pc)
  if (line !== undefined) last.current = { frame, line }
  const shown = line ?? (last.current?.frame === frame ? last.current.line : undefined)
  const texts = shown === undefined ? undefined : lines?.textOf(shown.path)
  const problem = pc === undefined || line !== undefined ? undefined : lines?.problemAt(part, pc)
  return (
    <Card
      className="detail source-pane"
      testid="source-pane"
      title={
        shown === undefined ? (
          <Foreign text={contract.name} />
        ) : (
          <span class="mono">
            <Foreign text={`${shown.path}:${shown.line}`} />
          </span>
        )
      }
      more={
        <>
          {contract.how !== 'exact' && <span class="chip warn">metadata differs</span>}
          <button
            type="button"
            class="button small"
            disabled={isSeeking}
            onClick={() => seek(false)}
            title="L: the next line, also within calls"
          >
            Line into
          </button>
          <button type="button" class="button small" disabled={isSeeking} onClick={() => seek(true)} title="l: the next line, over calls">
            Line
          </button>
        </>
      }
    >
      {texts !== undefined && shown !== undefined && <Excerpt texts={texts} path={shown.path} line={shown.line} mark={line} />}
      {(problem !== undefined || (pc !== undefined && line === undefined && lines !== undefined)) && (
        <p class="faint said" data-testid="source-said">
          {problem === undefined ? (
            lines === null ? (
              'The artifacts have changed since this page was opened: reload it.'
            ) : (
              'This instruction is code of the compiler.'
            )
          ) : (
            <Foreign text={problem} />
          )}
        </p>
      )}
    </Card>
  )
}

/** The line at which a failure arose. */
export function OriginLine({ hash, trace, index, contracts }: Subject): JSX.Element | null {
  useStyle()
  const origin = failureChain(trace.top)[0]?.frame
  const frame = origin === undefined ? undefined : trace.numbers.get(origin)
  const last = frame === undefined ? undefined : index.frames[frame]?.[1]
  const { value } = useResource(
    last === undefined ? undefined : `origin ${hash} ${trace.block} ${last} ${contracts.known}`,
    async (signal) => {
      const { steps }: Page = await rpc('debug_traceSteps', [hash, { from: last, to: (last as number) + 1, fields: [] }], signal)
      const [step] = steps
      const line = step === undefined ? undefined : await lineAt(contracts, trace, step.frame, step.pc)
      const contract = step === undefined ? undefined : contracts.of(step.frame)
      const texts = line === undefined || contract === undefined ? undefined : (await contracts.lines(contract))?.textOf(line.path)
      return line === undefined || texts === undefined ? null : { line, texts }
    },
  )
  if (value == null || last === undefined) return null
  const { line, texts } = value
  return (
    <Card
      testid="origin-line"
      title={
        <>
          Failed at{' '}
          <a class="mono" href={txPath(hash, 'steps', { at: last })}>
            <Foreign text={`${line.path}:${line.line}`} />
          </a>
        </>
      }
    >
      <Excerpt texts={texts} path={line.path} line={line.line} mark={line} around={3} />
    </Card>
  )
}
