// The failure first: where it arose, and what each frame above made of it.
import type { JSX } from 'preact'
import { failure, failureChain, innerFailures, markText, target } from '../../explore/index.ts'
import { grouped } from '../parts/format.ts'
import { names } from '../store/names.ts'
import { txPath } from '../store/router.ts'
import type { Trace } from './load.ts'

/** Failures within a transaction that succeeded, or beside the chain, that are listed. */
const INNER_MAX = 20

export function FailureBanner({ hash, trace }: { readonly hash: string; readonly trace: Trace }): JSX.Element | null {
  const known = names.value
  const chain = failureChain(trace.top)
  const origin = chain[0]
  if (origin === undefined) return null
  return (
    <section class="card failure" aria-label="The failure">
      <header>
        <h2>Failed</h2>
        <span class="reason" data-testid="reason">
          <bdi class="foreign">{failure(origin.frame, known)}</bdi>
        </span>
      </header>
      <ol class="links" data-testid="failure-chain">
        {chain.map(({ role, frame }) => (
          <li key={frame.id} data-testid="failure-link" data-role={role} data-id={frame.id}>
            <span class="role" data-role={role}>
              {role}
            </span>
            <a class="frame" href={txPath(hash, 'calls', { frame: frame.id })}>
              {frame.id}
            </a>
            <span class="where">
              <bdi class="foreign">{target(frame, known)}</bdi>
              {role !== 'passed on' && (
                <bdi class="said foreign">
                  {role === 'dropped' ? 'no data: the caller learns nothing of the reason' : failure(frame, known)}
                </bdi>
              )}
            </span>
          </li>
        ))}
      </ol>
    </section>
  )
}

/**
 * Failures that their callers caught: not why a transaction failed, and worth a look all the same.
 */
export function InnerFailures({ hash, trace }: { readonly hash: string; readonly trace: Trace }): JSX.Element | null {
  const known = names.value
  const inner = innerFailures(trace.top)
  if (inner.length === 0) return null
  return (
    <details class="card" data-testid="inner-failures">
      <summary class="note">
        {grouped(inner.length)} {inner.length === 1 ? 'call failed and its caller went on' : 'calls failed and their callers went on'}
      </summary>
      <ol class="links">
        {inner.slice(0, INNER_MAX).map((frame) => (
          <li key={frame.id}>
            <span class="role">caught</span>
            <a class="frame" href={txPath(hash, 'calls', { frame: frame.id })}>
              {frame.id}
            </a>
            <span class="where">
              <bdi class="foreign">{target(frame, known)}</bdi>
              <bdi class="said foreign">{markText(frame, undefined, known)}</bdi>
            </span>
          </li>
        ))}
        {inner.length > INNER_MAX && (
          <li>
            <span class="role" />
            <span />
            <span class="where faint">and {grouped(inner.length - INNER_MAX)} more</span>
          </li>
        )}
      </ol>
    </details>
  )
}
