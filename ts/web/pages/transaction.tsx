// A transaction: what it did, why it failed, and where its gas went.
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { age, ether, grouped, gwei, number, percent, time } from '../parts/format.ts'
import { late } from '../parts/lazy.tsx'
import { Card, Copy, Fact, useNow, usePainted, Wait, Who } from '../parts/small.tsx'
import { Message, Trouble } from '../parts/trouble.tsx'
import { isHash } from '../store/chain.ts'
import { head } from '../store/live.ts'
import type { Resource } from '../store/resource.ts'
import { blockPath, query, txPath, VIEWS, type View } from '../store/router.ts'
import { useContracts } from '../tx/contracts.ts'
import { FrameDetail } from '../tx/detail.tsx'
import { FailureBanner, InnerFailures } from '../tx/failure.tsx'
import {
  type GasFacts,
  type Loaded,
  type StepIndex,
  type Trace,
  useGasFacts,
  useStanding,
  useStepIndex,
  useTrace,
  useTransaction,
} from '../tx/load.ts'
import { CallTree } from '../tx/tree.tsx'
import { functionName } from './home.tsx'

// What stands behind the other tabs is loaded with the first look at one of them.
const Events = late(async () => (await import('../tx/views.ts')).Events)
const Balances = late(async () => (await import('../tx/views.ts')).Balances)
const StateDiff = late(async () => (await import('../tx/views.ts')).StateDiff)
const Gas = late(async () => (await import('../tx/views.ts')).Gas)
const StorageHeat = late(async () => (await import('../tx/views.ts')).StorageHeat)
const Lines = late(async () => (await import('../tools/lines.tsx')).Lines)
const OriginLine = late(async () => (await import('../tools/source.tsx')).OriginLine, true)
const Raw = late(async () => (await import('../tx/views.ts')).Raw)
const Steps = late(async () => (await import('../tx/steps.tsx')).Steps)

const VIEW_NAMES: Readonly<Record<View, string>> = {
  calls: 'Calls',
  events: 'Events',
  balances: 'Balances',
  state: 'State',
  flame: 'Gas',
  lines: 'Lines',
  storage: 'Storage',
  steps: 'Steps',
  raw: 'Raw',
}

function Facts({ loaded: { tx, receipt, header }, steps }: { readonly loaded: Loaded; readonly steps: number | undefined }): JSX.Element {
  const now = useNow(5000)
  const price = receipt?.effectiveGasPrice ?? tx.gasPrice
  const used = receipt === undefined ? undefined : number(receipt.gasUsed)
  return (
    <Card>
      <dl class="facts">
        <Fact name="Block">
          {tx.blockNumber === null ? (
            'in none yet'
          ) : (
            <>
              <a class="mono" href={blockPath(number(tx.blockNumber))}>
                {grouped(number(tx.blockNumber))}
              </a>
              <span class="faint">#{number(tx.transactionIndex)}</span>
            </>
          )}
        </Fact>
        <Fact name="Time">
          {header === undefined ? '–' : <span title={time(number(header.timestamp))}>{age(number(header.timestamp), now)}</span>}
          {header !== undefined && <span class="under">{time(number(header.timestamp))}</span>}
        </Fact>
        <Fact name="From">
          <Who address={tx.from} copy />
        </Fact>
        <Fact name={tx.to === null ? 'Made' : 'To'}>
          <Who address={tx.to ?? receipt?.contractAddress} copy />
        </Fact>
        <Fact name="Calls">
          <span class="mono">{functionName(tx.to, tx.input)}</span>
        </Fact>
        <Fact name="Value">{ether(BigInt(tx.value))}</Fact>
        <Fact name="Gas used" id="gas-used">
          {used === undefined ? '–' : <span data-gas={used}>{grouped(used)}</span>}
          <span class="under">
            {used === undefined ? '' : `${percent(used, number(tx.gas))} `}of {grouped(number(tx.gas))}
          </span>
        </Fact>
        <Fact name="Fee">
          {used === undefined || price === undefined ? '–' : ether(BigInt(used) * BigInt(price))}
          {price !== undefined && <span class="under">{gwei(BigInt(price))}</span>}
        </Fact>
        <Fact name="Nonce">{grouped(number(tx.nonce))}</Fact>
        <Fact name="Steps" id="step-count">
          {steps === undefined ? <span class="faint">–</span> : grouped(steps)}
        </Fact>
      </dl>
    </Card>
  )
}

interface ViewsProps {
  readonly hash: string
  readonly block: string
  readonly height: string
  readonly trace: Trace
  readonly view: View
  readonly index: Resource<StepIndex>
  readonly gas: GasFacts | undefined
}

/** Everything that is shown of a trace: the failure, and a tab for each view. */
export function Views({ hash, block, height, trace, view, index, gas }: ViewsProps): JSX.Element {
  const contracts = useContracts(trace)
  const asked = query.value.get('frame')
  const selected = (asked === null ? 0 : trace.byId.get(asked)) ?? 0
  const counts: Readonly<Partial<Record<View, number>>> = {
    calls: trace.frames.length,
    events: trace.events,
    ...(index.value === undefined ? {} : { steps: index.value.steps }),
  }
  return (
    <>
      <FailureBanner hash={hash} trace={trace} />
      {contracts !== undefined && index.value !== undefined && trace.top.error !== undefined && (
        <OriginLine hash={hash} trace={trace} index={index.value} contracts={contracts} />
      )}
      <InnerFailures hash={hash} trace={trace} />
      <nav class="tabs" aria-label="Views of the transaction">
        {VIEWS.map((name) => (
          <a
            key={name}
            href={txPath(hash, name)}
            {...(name === view ? { 'aria-current': 'page' as const } : {})}
            data-testid={`tab-${name}`}
          >
            {VIEW_NAMES[name]}
            {counts[name] !== undefined && <span class="count">{grouped(counts[name])}</span>}
          </a>
        ))}
      </nav>
      {view === 'calls' && (
        <div class="work">
          <CallTree trace={trace} selected={selected} gas={gas} />
          <div class="side">
            <FrameDetail hash={hash} trace={trace} number={selected} index={index.value} />
          </div>
        </div>
      )}
      {view === 'events' && <Events hash={hash} trace={trace} />}
      {view === 'balances' && <Balances hash={hash} block={block} height={height} trace={trace} />}
      {view === 'state' && <StateDiff hash={hash} block={block} contracts={contracts} />}
      {view === 'flame' && <Gas hash={hash} trace={trace} selected={selected} gas={gas} contracts={contracts} />}
      {view === 'lines' && <Lines hash={hash} trace={trace} contracts={contracts} />}
      {view === 'storage' && <StorageHeat hash={hash} block={block} trace={trace} contracts={contracts} />}
      {view === 'steps' &&
        (index.error !== undefined ? (
          <Trouble error={index.error} retry={index.reload} />
        ) : index.value === undefined ? (
          <Wait what="Counting the steps" />
        ) : (
          <Steps hash={hash} block={block} trace={trace} index={index.value} contracts={contracts} />
        ))}
      {view === 'raw' && <Raw hash={hash} block={block} />}
    </>
  )
}

function Traced({ loaded, trace, view }: { readonly loaded: Loaded; readonly trace: Trace; readonly view: View }): JSX.Element {
  const { hash, blockHash, blockNumber } = loaded.tx
  const index = useStepIndex(hash, blockHash as string)
  const gas = useGasFacts(loaded, index.value)
  return (
    <>
      <Facts loaded={loaded} steps={index.value?.steps} />
      <Views hash={hash} block={blockHash as string} height={blockNumber as string} trace={trace} view={view} index={index} gas={gas} />
    </>
  )
}

function Standing({
  hash,
  block,
  reload,
}: {
  readonly hash: string
  readonly block: string
  readonly reload: () => void
}): JSX.Element | null {
  const standing = useStanding(hash, block)
  if (standing === 'here') return null
  return (
    <div class="note" role="alert" data-testid="left-chain" data-standing={standing}>
      <span>
        {standing === 'gone'
          ? 'This transaction left the chain in a reorganisation. What is shown is its trace from before.'
          : 'A reorganisation moved this transaction to another block. What is shown is its trace from before.'}
      </span>
      <button type="button" class="button small" onClick={reload}>
        Look again
      </button>
    </div>
  )
}

export function TransactionPage({ hash: given, view }: { readonly hash: string; readonly view: View }): JSX.Element {
  const isValid = isHash(given)
  const hash = given.toLowerCase()
  const { value: loaded, error, reload } = useTransaction(isValid ? hash : undefined)
  const block = loaded?.tx.blockHash ?? undefined
  const trace = useTrace(hash, block)
  const waits = loaded != null && loaded.tx.blockHash === null
  const newest = head.value?.hash
  // What waits may be mined, and what was not known may have come, with each new block.
  useEffect(() => {
    if (waits || loaded === null) reload()
  }, [newest])
  const isDone = !isValid || error !== undefined || loaded === null || waits || trace.value !== undefined || trace.error !== undefined
  usePainted(isDone ? `${txPath(hash, view)}` : undefined)
  document.title = `Transaction ${hash.slice(0, 10)} · Hearth`
  if (!isValid) {
    return (
      <Message id="bad-hash" title="This is no transaction hash">
        <p>A hash is 0x and 64 hex digits; this has {given.length} characters.</p>
      </Message>
    )
  }
  if (error !== undefined) return <Trouble error={error} retry={reload} />
  if (loaded === undefined) return <Wait what="Reading the transaction" />
  if (loaded === null) {
    return (
      <Message id="unknown-transaction" title="This node does not know the transaction">
        <p>
          It may be on another chain, not yet mined, or have left this chain in a reorganisation. The page looks again with each new block.
        </p>
        <div class="said mono">{hash}</div>
        <div class="row">
          <button type="button" class="button" onClick={reload}>
            Look again
          </button>
        </div>
      </Message>
    )
  }
  const status = loaded.receipt?.status
  return (
    <>
      <div class="title">
        <div class="what">
          <div class="line">
            <h1>Transaction</h1>
            {waits ? (
              <span class="chip warn">waits in the pool</span>
            ) : status === '0x0' ? (
              <span class="chip bad" data-testid="outcome">
                failed
              </span>
            ) : (
              status === '0x1' && (
                <span class="chip good" data-testid="outcome">
                  succeeded
                </span>
              )
            )}
          </div>
          <span class="hash">
            {hash}
            <Copy text={hash} what="hash" />
          </span>
        </div>
        {block !== undefined && (
          <div class="actions">
            <a class="button" href={`/call?tx=${hash}`} data-testid="what-if">
              What if
            </a>
            <a class="button" href={`/tracer?tx=${hash}`} data-testid="to-tracer">
              Tracer
            </a>
          </div>
        )}
      </div>
      {block !== undefined && <Standing hash={hash} block={block} reload={reload} />}
      {waits ? (
        <>
          <Facts loaded={loaded} steps={undefined} />
          <Message id="pending" title="This transaction waits for a block">
            <p>
              It has no trace yet. The page looks again with each new block; a development chain that mines on demand makes one with
              evm_mine.
            </p>
          </Message>
        </>
      ) : trace.error !== undefined ? (
        <>
          <Facts loaded={loaded} steps={undefined} />
          <Trouble error={trace.error} retry={trace.reload} />
        </>
      ) : trace.value === undefined ? (
        <>
          <Facts loaded={loaded} steps={undefined} />
          <Wait what="Tracing the transaction" />
        </>
      ) : (
        <Traced loaded={loaded} trace={trace.value} view={view} />
      )}
    </>
  )
}
