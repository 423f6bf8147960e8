// Every event in the order in which they were emitted.
import type { JSX } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { type EventItem, type Frame, isFrame } from '../../explore/index.ts'
import { grouped } from '../parts/format.ts'
import { Card, Empty, Who } from '../parts/small.tsx'
import { names } from '../store/names.ts'
import { txPath } from '../store/router.ts'
import { Arguments } from './arguments.tsx'
import { Bytes } from './detail.tsx'
import type { Trace } from './load.ts'

/** Events that are drawn at once. */
const SHOWN = 200

interface Emitted {
  readonly event: EventItem
  readonly frame: Frame
}

/** Events in order, those of calls between those of their callers. */
function eventsOf(trace: Trace): Emitted[] {
  const events: Emitted[] = []
  const waiting: (Frame | Emitted)[] = [trace.top]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if ('event' in next) {
      events.push(next)
      continue
    }
    for (let i = next.items.length - 1; i >= 0; i--) {
      const item = next.items[i] as Frame | EventItem
      waiting.push(isFrame(item) ? item : { event: item, frame: next })
    }
  }
  return events
}

function EventRow({
  hash,
  place,
  emitted: { event, frame },
}: {
  readonly hash: string
  readonly place: number
  readonly emitted: Emitted
}): JSX.Element {
  const decoded = names.value.decodeEvent(event.topics, event.data)
  return (
    <li class="event" data-testid="event-row">
      <span class="n">{place}</span>
      <div>
        <div class="name">
          <bdi>{decoded?.name ?? (event.topics[0] === undefined ? 'anonymous event' : `event ${event.topics[0].slice(0, 10)}…`)}</bdi>
        </div>
        <div class="from">
          by <Who address={event.address} copy /> in <a href={txPath(hash, 'calls', { frame: frame.id })}>call {frame.id}</a>
        </div>
        {decoded !== undefined ? (
          <Arguments args={decoded.args} />
        ) : (
          <>
            <dl class="args-list">
              {event.topics.map((topic, i) => (
                <>
                  <dt>topic {i}</dt>
                  <dd>{topic}</dd>
                </>
              ))}
            </dl>
            {event.data !== '0x' && <Bytes data={event.data} what="data" />}
          </>
        )}
      </div>
    </li>
  )
}

export function Events({ hash, trace }: { readonly hash: string; readonly trace: Trace }): JSX.Element {
  const [most, setMost] = useState(SHOWN)
  const events = useMemo(() => eventsOf(trace), [trace])
  return (
    <Card title="Events" more={<span class="faint">in the order in which they were emitted</span>}>
      {events.length === 0 ? (
        <Empty title="No events">
          <span>
            {trace.top.error === undefined
              ? 'No call of this transaction emitted one.'
              : 'The transaction failed: what its calls emitted was undone with the rest.'}
          </span>
        </Empty>
      ) : (
        <ol>
          {events.slice(0, most).map((emitted, i) => (
            <EventRow key={i} hash={hash} place={i} emitted={emitted} />
          ))}
        </ol>
      )}
      {events.length > most && (
        <div class="empty">
          <button type="button" class="button" onClick={() => setMost(most + SHOWN)}>
            Show more of {grouped(events.length)}
          </button>
        </div>
      )}
    </Card>
  )
}
