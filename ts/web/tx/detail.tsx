// All details of one call: caller, callee, input and output.
import type { JSX } from 'preact'
import { type EventItem, type Frame, failure, isFrame } from '../../explore/index.ts'
import { byteCount, ether, grouped, percent } from '../parts/format.ts'
import { Card, Copy, Who } from '../parts/small.tsx'
import { names } from '../store/names.ts'
import { txPath } from '../store/router.ts'
import { Arguments } from './arguments.tsx'
import type { StepIndex, Trace } from './load.ts'

/** Characters of data that are shown; all of it is copied. */
const DATA_MAX = 4000

export const Bytes = ({ data, what }: { readonly data: string; readonly what: string }): JSX.Element => (
  <>
    <div class="bytes">{data.length > DATA_MAX ? `${data.slice(0, DATA_MAX)}… (${grouped(byteCount(data))} bytes)` : data}</div>
    <span class="faint">
      {grouped(byteCount(data))} bytes <Copy text={data} what={what} />
    </span>
  </>
)

interface Props {
  readonly hash: string
  readonly trace: Trace
  readonly number: number
  readonly index: StepIndex | undefined
}

export function FrameDetail({ hash, trace, number, index }: Props): JSX.Element {
  const frame = trace.frames[number] as Frame
  const known = names.value
  const input = known.decodeCall(frame.input)
  const result = frame.error === undefined ? known.decodeResult(frame.input, frame.output) : undefined
  const events = frame.items.filter((item): item is EventItem => !isFrame(item))
  const steps = index?.frames[number]
  const isNew = frame.kind.startsWith('CREATE')
  return (
    <Card
      className="detail"
      title={
        <>
          Call <span class="mono">{frame.id}</span>
        </>
      }
      more={
        steps == null ? undefined : (
          <a href={txPath(hash, 'steps', { at: steps[0] })} data-testid="frame-steps">
            {grouped(steps[2])} {steps[2] === 1 ? 'step' : 'steps'} →
          </a>
        )
      }
    >
      <dl>
        <dt>Kind</dt>
        <dd>
          <span class={`kind ${frame.kind}`}>{frame.kind}</span>
        </dd>
        <dt>From</dt>
        <dd>
          <Who address={frame.from} copy />
        </dd>
        <dt>{isNew ? 'Makes' : 'To'}</dt>
        <dd>
          <Who address={frame.to} copy />
        </dd>
        {frame.value > 0n && (
          <>
            <dt>Value</dt>
            <dd>{ether(frame.value)}</dd>
          </>
        )}
        <dt>Gas</dt>
        <dd>
          {grouped(frame.gasUsed)} <span class="faint">of {grouped(frame.gas)}</span>
        </dd>
        <dt>Share</dt>
        <dd>{percent(frame.gasUsed, trace.top.gasUsed)}</dd>
        {frame.error !== undefined && (
          <>
            <dt>Failed</dt>
            <dd class="bad">
              <bdi class="foreign">{failure(frame, known)}</bdi>
            </dd>
          </>
        )}
      </dl>
      <section>
        <h3>{isNew ? 'Creation code' : input === undefined ? 'Input' : <bdi>{input.name}</bdi>}</h3>
        {input !== undefined && !isNew && input.args.length > 0 && <Arguments args={input.args} />}
        {input === undefined || isNew ? (
          frame.input === '0x' ? (
            <span class="faint">no data</span>
          ) : (
            <Bytes data={frame.input} what="input" />
          )
        ) : (
          input.args.length === 0 && <span class="faint">no arguments</span>
        )}
      </section>
      {frame.output !== '0x' && (
        <section>
          <h3>{frame.error === undefined ? (isNew ? 'Code' : 'Returns') : 'Error data'}</h3>
          {result === undefined ? <Bytes data={frame.output} what="output" /> : <Arguments args={result} />}
        </section>
      )}
      {events.length > 0 && (
        <section>
          <h3>Events</h3>
          {events.map((event, i) => (
            <p key={i} class="mono foreign">
              <bdi>{known.event(event.topics, event.data)}</bdi>
            </p>
          ))}
        </section>
      )}
    </Card>
  )
}
