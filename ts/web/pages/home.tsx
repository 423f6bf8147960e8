// The newest blocks, and how the node does.
import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { age, bytes, duration, ether, grouped, gwei, number, percent } from '../parts/format.ts'
import { late } from '../parts/lazy.tsx'
import { Card, Empty, Meter, TxLink, useNow, usePainted, Wait, Who } from '../parts/small.tsx'
import { Spark } from '../parts/spark.tsx'
import { Trouble } from '../parts/trouble.tsx'
import type { Block } from '../store/chain.ts'
import { head } from '../store/live.ts'
import { names } from '../store/names.ts'
import { blockPath } from '../store/router.ts'
import { ask, RpcFailure, rpc, rpcOr, tokenGiven } from '../store/rpc.ts'

const HomeTools = late(async () => (await import('../tools/dev.tsx')).HomeTools, true)

/** Blocks that are shown, and transactions. */
const BLOCKS = 12
const TRANSACTIONS = 14

const STATUS_EVERY_MS = 5000

interface Sample {
  readonly at: number
  readonly height: number | null
  readonly headAgeMs: number | null
  readonly pending: number | null
  readonly queued: number | null
  readonly bakeLagBlocks: number | null
  readonly bakeQueue: number | null
  readonly traces: number | null
  readonly traceHits: number | null
  readonly memoryBytes: number
  readonly memoryBudgetBytes: number | null
  readonly processorMs: number
}

interface Status extends Sample {
  readonly version: string
  readonly mode: 'start' | 'dev'
  readonly uptimeMs: number
  readonly baking: boolean
  readonly samples: readonly Sample[]
}

function useStatus(): { status: Status | undefined; error: unknown } {
  const [state, setState] = useState<{ status: Status | undefined; error: unknown }>({ status: undefined, error: undefined })
  const tokens = tokenGiven.value
  useEffect(() => {
    const gone = new AbortController()
    const look = async (): Promise<void> => {
      try {
        const response = await ask('/_/status', { signal: gone.signal }, 'status')
        if (!response.ok) throw new RpcFailure('status', (await response.text()).trim().slice(0, 200), response.status)
        setState({ status: (await response.json()) as Status, error: undefined })
      } catch (error) {
        if (!gone.signal.aborted) setState((before) => ({ status: before.status, error }))
      }
    }
    void look()
    const timer = setInterval(() => document.visibilityState === 'visible' && void look(), STATUS_EVERY_MS)
    return () => {
      clearInterval(timer)
      gone.abort()
    }
  }, [tokens])
  return state
}

function Tile({
  label,
  value,
  under,
  samples,
  of,
}: {
  readonly label: string
  readonly value: string
  readonly under: string
  readonly samples: readonly Sample[]
  readonly of: (sample: Sample, before: Sample | undefined) => number | null
}): JSX.Element {
  return (
    <div class="card tile">
      <span class="label">{label}</span>
      <span class="value">{value}</span>
      <span class="under">{under}</span>
      {samples.length > 1 && (
        <Spark
          label={`${label} over the last minutes`}
          times={samples.map(({ at }) => at / 1000)}
          values={samples.map((sample, i) => of(sample, samples[i - 1]))}
        />
      )}
    </div>
  )
}

function Health({ status }: { readonly status: Status }): JSX.Element {
  const {
    samples,
    memoryBytes,
    memoryBudgetBytes,
    traces,
    traceHits,
    bakeLagBlocks,
    bakeQueue,
    pending,
    queued,
    mode,
    uptimeMs,
    version,
    baking,
  } = status
  const budget = memoryBudgetBytes === null || memoryBudgetBytes === 0 ? 'no limit' : `of ${bytes(memoryBudgetBytes)}`
  const busy = (sample: Sample, before: Sample | undefined): number | null =>
    before === undefined ? null : (100 * (sample.processorMs - before.processorMs)) / Math.max(1, sample.at - before.at)
  const last = samples.at(-1)
  const load = last === undefined ? null : busy(last, samples.at(-2))
  return (
    <section class="tiles" aria-label="The node" data-testid="health">
      <Tile label="Memory" value={bytes(memoryBytes)} under={budget} samples={samples} of={(sample) => sample.memoryBytes} />
      <Tile
        label="Processor"
        value={load === null ? '–' : `${load.toFixed(0)} %`}
        under="of one core, last 5 s"
        samples={samples}
        of={busy}
      />
      <Tile
        label="Pool"
        value={pending === null ? '–' : grouped(pending)}
        under={queued === null ? 'not served' : `${grouped(queued)} wait for others`}
        samples={samples}
        of={(sample) => sample.pending}
      />
      {baking ? (
        <Tile
          label="Bake lag"
          value={bakeLagBlocks === null ? '–' : `${grouped(bakeLagBlocks)}`}
          under={`blocks behind the head, ${grouped(bakeQueue ?? 0)} in the queue`}
          samples={samples}
          of={(sample) => sample.bakeLagBlocks}
        />
      ) : null}
      {baking ? (
        <Tile
          label="Traces out of the cache"
          value={traces === null || traces === 0 ? '–' : percent(traceHits ?? 0, traces)}
          under={`${grouped(traces ?? 0)} asked for`}
          samples={samples}
          of={(sample) => (sample.traces === null || sample.traces === 0 ? null : (100 * (sample.traceHits ?? 0)) / sample.traces)}
        />
      ) : null}
      <div class="card tile">
        <span class="label">Running for</span>
        <span class="value">{duration(uptimeMs)}</span>
        <span class="under">{mode === 'dev' ? 'development chain' : 'serving a chain'}</span>
        <span class="under nowrap" title={version}>
          {version.split('/').slice(0, 2).join(' ')}
        </span>
      </div>
    </section>
  )
}

/** The newest blocks; those that are here already are not asked for again. */
function useBlocks(): { blocks: readonly Block[] | undefined; error: unknown } {
  const [state, setState] = useState<{ blocks: readonly Block[] | undefined; error: unknown }>({ blocks: undefined, error: undefined })
  /** Blocks by hash, also those of a look that the next block ended before it was done. */
  const read = useRef(new Map<string, Block>())
  const newest = head.value
  const tokens = tokenGiven.value
  useEffect(() => {
    const gone = new AbortController()
    const load = async (): Promise<void> => {
      try {
        const height = newest === undefined ? number(await rpc<string>('eth_blockNumber', [], gone.signal)) : number(newest.number)
        const wanted = Array.from({ length: Math.min(BLOCKS, height + 1) }, (_, i) => height - i)
        const top = await rpc<Block | null>('eth_getBlockByNumber', [`0x${height.toString(16)}`, true], gone.signal)
        const blocks: Block[] = top === null ? [] : [top]
        if (top !== null) read.current.set(top.hash, top)
        for (const at of wanted.slice(1)) {
          // After a reorganisation blocks of the same height are others.
          const block =
            read.current.get(blocks.at(-1)?.parentHash ?? '') ??
            (await rpcOr<Block | null>('eth_getBlockByNumber', [`0x${at.toString(16)}`, true], gone.signal))
          if (block == null) continue
          read.current.set(block.hash, block)
          blocks.push(block)
        }
        read.current = new Map(blocks.map((block) => [block.hash, block]))
        setState({ blocks, error: undefined })
      } catch (error) {
        if (!gone.signal.aborted) setState((before) => ({ blocks: before.blocks, error }))
      }
    }
    void load()
    return () => gone.abort()
  }, [newest?.hash, tokens])
  return state
}

const FIRST_TRANSACTION = `curl -s ${location.origin} -H 'content-type: application/json' \\
  -d '{"jsonrpc":"2.0","id":1,"method":"eth_sendTransaction","params":[{
    "from":"0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266",
    "to":"0x70997970c51812dc3a010c7d01b50e0d17dc79c8","value":"0xde0b6b3a7640000"}]}'`

function Transactions({ blocks, isDev }: { readonly blocks: readonly Block[]; readonly isDev: boolean }): JSX.Element {
  const rows = blocks.flatMap((block) => [...block.transactions].reverse()).slice(0, TRANSACTIONS)
  if (rows.length === 0) {
    return (
      <Empty title="No transactions in the newest blocks">
        {isDev ? (
          <>
            <span>Send the first one of this chain:</span>
            <pre>{FIRST_TRANSACTION}</pre>
          </>
        ) : (
          <span>Older ones are found by their hash or their block.</span>
        )}
      </Empty>
    )
  }
  return (
    <div class="scroll">
      <table class="list">
        <thead>
          <tr>
            <th>Transaction</th>
            <th>Call</th>
            <th>To</th>
            <th class="num">Value</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((tx) => (
            <tr key={tx.hash} data-testid="home-tx">
              <td>
                <TxLink hash={tx.hash} />
              </td>
              <td class="mono">{functionName(tx.to, tx.input)}</td>
              <td>
                <Who address={tx.to} />
              </td>
              <td class="num">{tx.value === '0x0' ? <span class="faint">0</span> : ether(BigInt(tx.value))}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** What a transaction calls, in a word. */
export function functionName(to: string | null, input: string): JSX.Element {
  if (to === null) return <span class="chip good">creates</span>
  if (input === '0x') return <span class="faint">no data</span>
  const known = names.value.decodeCall(input)
  return <bdi>{known?.name ?? input.slice(0, 10)}</bdi>
}

export function HomePage(): JSX.Element {
  const { blocks, error } = useBlocks()
  const { status, error: statusError } = useStatus()
  const now = useNow()
  document.title = 'Hearth'
  usePainted(blocks === undefined ? undefined : '/')
  if (blocks === undefined) return error === undefined ? <Wait what="Reading the newest blocks" /> : <Trouble error={error} />
  return (
    <>
      <h1 class="hidden">The newest blocks</h1>
      {error !== undefined && <Trouble error={error} />}
      {status !== undefined ? (
        <Health status={status} />
      ) : statusError !== undefined ? (
        <Trouble error={statusError} />
      ) : (
        <div class="tiles" />
      )}
      <div class="columns">
        <Card
          title="Blocks"
          more={<span class="faint">{status?.mode === 'dev' ? 'a block shows as soon as it is mined' : 'newest first'}</span>}
        >
          <div class="scroll">
            <table class="list">
              <thead>
                <tr>
                  <th>Height</th>
                  <th>Age</th>
                  <th class="num">Transactions</th>
                  <th>Gas</th>
                  <th class="num">Gas used</th>
                  <th class="num">Base fee</th>
                </tr>
              </thead>
              <tbody>
                {blocks.map((block) => (
                  <tr key={block.hash} data-testid="block-row" data-number={number(block.number)}>
                    <td>
                      <a class="mono" href={blockPath(number(block.number))}>
                        {grouped(number(block.number))}
                      </a>
                    </td>
                    <td class="soft nowrap">{age(number(block.timestamp), now)}</td>
                    <td class="num">
                      {block.transactions.length === 0 ? <span class="faint">0</span> : grouped(block.transactions.length)}
                    </td>
                    <td>
                      <Meter part={number(block.gasUsed) / Math.max(1, number(block.gasLimit))} />
                    </td>
                    <td class="num">{grouped(number(block.gasUsed))}</td>
                    <td class="num">
                      {block.baseFeePerGas === undefined ? <span class="faint">none</span> : gwei(BigInt(block.baseFeePerGas))}
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </Card>
        <Card title="Transactions">
          <Transactions blocks={blocks} isDev={status?.mode === 'dev'} />
        </Card>
      </div>
      <HomeTools isDev={status?.mode === 'dev'} />
    </>
  )
}
