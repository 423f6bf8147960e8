// What went wrong, which rule of the node said so, and what would help.
import type { ComponentChildren, JSX } from 'preact'
import { useState } from 'preact/hooks'
import { printable } from '../../explore/index.ts'
import { giveToken, hasToken, RpcFailure } from '../store/rpc.ts'

interface Known {
  readonly id: string
  readonly title: string
  readonly help: string
  readonly serious?: boolean
}

/** What the messages of the node mean, the first that fits (docs/errors.md). */
const KNOWN: readonly (readonly [RegExp, Known])[] = [
  [
    /transaction not found/,
    {
      id: 'unknown-transaction',
      title: 'This node does not know the transaction',
      help: 'It may be on another chain, or have left this one in a reorganisation. Check the hash, or wait until its block is here.',
    },
  ],
  [
    /was pruned|state at height|not available/,
    {
      id: 'pruned',
      title: 'This height is pruned',
      help: 'The node keeps a window of history: state-commit.flatkv.state_history_blocks and littable retention say how much. A node with more history can trace it; `hearth bake` keeps traces before their state is gone.',
    },
  ],
  [
    /beyond max lookback/,
    {
      id: 'lookback',
      title: 'The block is too old to be traced here',
      help: 'evm.max_trace_lookback_blocks says how far below the head blocks are traced. Raise it, or bake the block with `hearth bake`.',
    },
  ],
  [
    /before the first block/,
    {
      id: 'before-first',
      title: 'The node has no block that old',
      help: 'Its data directory begins later. Import the earlier blocks, or ask a node that has them.',
    },
  ],
  [
    /tracer .* is not allowed|tracers are not allowed/,
    {
      id: 'tracer-off',
      title: 'The node does not allow this tracer',
      help: 'The setting evm.trace_allowed_tracers leaves it out: add the tracer that the message names (the steps need structLogger), and restart the node.',
    },
  ],
  [
    /genesis is not traceable/,
    { id: 'genesis', title: 'The genesis block has no transactions to trace', help: 'Its accounts come out of the genesis file.' },
  ],
  [
    /node is starting/,
    {
      id: 'starting',
      title: 'The node is starting',
      help: 'It opens its stores and replays their log. This takes seconds; try again then.',
    },
  ],
  [
    /execution timeout|timeout|took longer/,
    {
      id: 'timeout',
      title: 'The trace took longer than it may',
      help: 'evm.trace_transaction_timeout and evm.trace_timeout bound the time of a trace. Raise them for transactions as large as this one.',
    },
  ],
  [
    /busy|queue is full/,
    {
      id: 'busy',
      title: 'The node has too much to do',
      help: 'It serves as many traces at a time as workers.heavy_threads lets it. Try again in a moment.',
    },
  ],
  [
    /origin of the fork/,
    {
      id: 'origin',
      title: 'The origin of the fork does not answer',
      help: 'This chain reads what it does not have from the node of --fork-url. Check that node.',
    },
  ],
]

function knownOf(error: unknown): Known {
  if (!(error instanceof RpcFailure)) {
    return {
      id: 'defect',
      title: 'The page met something that it cannot show',
      help: 'Reload the page; where that does not help, this is a defect.',
      serious: true,
    }
  }
  const { method, code, status, message } = error
  if (status === 0) {
    return {
      id: 'no-answer',
      title: 'The node does not answer',
      help: 'It may have been stopped, or the connection to it is gone. The page goes on as soon as it is back.',
      serious: true,
    }
  }
  if (status === 429)
    return {
      id: 'rate-limit',
      title: 'The rate limit of the node is reached',
      help: 'With evm.rate_limiting_enabled, evm.ip_rate_limit_rps and evm.ip_rate_limit_burst bound the requests of an address. The page waited and was refused again.',
    }
  if (status === 403)
    return {
      id: 'host',
      title: 'The node is not asked under this name',
      help: 'evm.allowed_hosts names the hosts under which the node answers.',
    }
  if (code === -32601) {
    const [namespace] = method.split('_')
    return {
      id: 'method-off',
      title: `The node does not serve ${method}`,
      help: `Either evm.namespaces leaves out ${namespace}, or evm.deny_list names the method${namespace === 'debug' ? ', or evm.debug_port moved it to a listener that this page cannot reach' : ''}.`,
    }
  }
  return (
    KNOWN.find(([words]) => words.test(message))?.[1] ?? {
      id: 'refused',
      title: 'The node refused the request',
      help: 'docs/errors.md explains its messages.',
    }
  )
}

function TokenForm({ isRefused }: { readonly isRefused: boolean }): JSX.Element {
  const [text, setText] = useState('')
  return (
    <section class="trouble" data-testid="trouble" data-trouble="token" role="alert">
      <h2>{isRefused ? 'The node does not take this token' : 'The node asks for a token'}</h2>
      <p>
        evm.auth_token_file or evm.auth_jwt_file guards what this page needs. A token that is given here stays in this tab until it is
        closed.
      </p>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          if (text.trim() !== '') giveToken(text)
        }}
      >
        <input
          class="field"
          type="password"
          autocomplete="off"
          aria-label="Token or JWT"
          placeholder="Token or JWT"
          data-testid="token"
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
        <button type="submit" class="button main">
          Use it
        </button>
      </form>
    </section>
  )
}

/** A failure in words. */
export function Trouble({
  error,
  retry,
  about,
}: {
  readonly error: unknown
  readonly retry?: () => void
  readonly about?: string
}): JSX.Element {
  if (error instanceof RpcFailure && error.status === 401) return <TokenForm isRefused={hasToken()} />
  const { id, title, help, serious = false } = knownOf(error)
  const message = error instanceof Error ? error.message : String(error)
  return (
    <Message id={id} title={title} serious={serious}>
      <p>{help}</p>
      <div class="said" dir="auto">
        {error instanceof RpcFailure ? `${error.method}: ` : ''}
        {printable(message)}
        {about === undefined ? '' : ` (${about})`}
      </div>
      {retry !== undefined && (
        <div class="row">
          <button type="button" class="button" onClick={retry}>
            Try again
          </button>
        </div>
      )}
    </Message>
  )
}

/** A box that says something in place of what was asked for. */
export const Message = ({
  id,
  title,
  serious = false,
  children,
}: {
  readonly id: string
  readonly title: string
  readonly serious?: boolean
  readonly children: ComponentChildren
}): JSX.Element => (
  <section class={`trouble${serious ? ' serious' : ''}`} data-testid="trouble" data-trouble={id} role="alert">
    <h2>{title}</h2>
    {children}
  </section>
)
