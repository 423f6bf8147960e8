// A block: its facts, its transactions, and where its gas went.
import type { JSX } from 'preact'
import { useEffect, useMemo, useState } from 'preact/hooks'
import { buildTree, type FlameOrder, type Frame, flameBoxes, type RawFrame } from '../../explore/index.ts'
import { FlameView } from '../parts/flame.tsx'
import { age, bytes, ether, grouped, gwei, number, percent, time } from '../parts/format.ts'
import { Card, Copy, Empty, Fact, Meter, Segments, TxLink, useNow, usePainted, Wait, Who } from '../parts/small.tsx'
import { Message, Trouble } from '../parts/trouble.tsx'
import { type Block, blockParameter, type Header, isHash, isHeight, isTag, type Receipt } from '../store/chain.ts'
import { head } from '../store/live.ts'
import { names } from '../store/names.ts'
import { useResource } from '../store/resource.ts'
import { blockPath, go, txPath } from '../store/router.ts'
import { rpc, rpcOr } from '../store/rpc.ts'
import { functionName } from './home.tsx'

/** Rows that are drawn at once; more are drawn when they are asked for. */
const ROWS_MAX = 500

interface Loaded {
  readonly block: Block
  readonly receipts: readonly Receipt[] | undefined
}

async function load(id: string, signal: AbortSignal): Promise<Loaded | null> {
  const method = isHash(id) ? 'eth_getBlockByHash' : 'eth_getBlockByNumber'
  const block = await rpc<Block | null>(method, [blockParameter(id), true], signal)
  if (block === null) return null
  const receipts = await rpcOr<Receipt[]>('eth_getBlockReceipts', [{ blockHash: block.hash }], signal)
  return { block, receipts }
}

interface TraceRow {
  readonly result?: RawFrame
  readonly error?: string
}

function Flame({ block }: { readonly block: Block }): JSX.Element {
  const [order, setOrder] = useState<FlameOrder>('time')
  const { value, error, reload } = useResource(`block-trace ${block.hash}`, async (signal) => {
    const rows = await rpc<TraceRow[]>('debug_traceBlockByHash', [block.hash, { tracer: 'callTracer' }], signal)
    return rows.map(({ result }) => (result === undefined ? undefined : buildTree(result)))
  })
  const known = names.value
  const tops = useMemo(() => (value ?? []).filter((top): top is Frame => top !== undefined), [value])
  const boxes = useMemo(() => flameBoxes(tops, known, order), [tops, known, order])
  const indexes = useMemo(() => new Map((value ?? []).flatMap((top, i) => (top === undefined ? [] : [[top, i] as const]))), [value])
  if (error !== undefined) return <Trouble error={error} retry={reload} />
  const open = (top: Frame, frame: Frame): void => {
    const tx = block.transactions[indexes.get(top) ?? -1]
    if (tx !== undefined) go(txPath(tx.hash, 'calls', frame.depth === 0 ? {} : { frame: frame.id }))
  }
  const failed = value?.filter((top) => top === undefined).length ?? 0
  return (
    <Card
      title="Gas of the whole block"
      more={
        <>
          <span class="faint">{order === 'time' ? 'click: the transaction' : 'click: zoom'}</span>
          <Segments
            label="Order of the flame"
            value={order}
            onChange={setOrder}
            options={[
              ['time', 'In order'],
              ['left-heavy', 'Left-heavy'],
            ]}
          />
        </>
      }
    >
      {value === undefined ? (
        <Wait what="Tracing the block" />
      ) : (
        <FlameView boxes={boxes} label={`Gas of block ${number(block.number)}`} {...(order === 'time' ? { onOpen: open } : {})} />
      )}
      {failed > 0 && <div class="flame-said bad">{failed} transactions could not be traced</div>}
    </Card>
  )
}

function Rows({ block, receipts }: Loaded): JSX.Element {
  const [most, setMost] = useState(ROWS_MAX)
  const byHash = useMemo(() => new Map((receipts ?? []).map((receipt) => [receipt.transactionHash, receipt])), [receipts])
  const all = Math.max(1, number(block.gasUsed))
  if (block.transactions.length === 0) return <Empty title="No transactions in this block" />
  return (
    <div class="scroll">
      <table class="list">
        <thead>
          <tr>
            <th class="num">#</th>
            <th>Transaction</th>
            <th>State</th>
            <th>Call</th>
            <th>From</th>
            <th>To</th>
            <th class="num">Value</th>
            <th class="num">Gas used</th>
            <th>Share</th>
          </tr>
        </thead>
        <tbody>
          {block.transactions.slice(0, most).map((tx, i) => {
            const receipt = byHash.get(tx.hash)
            const used = receipt === undefined ? undefined : number(receipt.gasUsed)
            return (
              <tr key={tx.hash} data-testid="tx-row" data-hash={tx.hash} data-failed={receipt?.status === '0x0'}>
                <td class="num faint">{i}</td>
                <td>
                  <TxLink hash={tx.hash} />
                </td>
                <td>
                  {receipt?.status === '0x0' ? (
                    <span class="chip bad">failed</span>
                  ) : receipt?.status === '0x1' ? (
                    <span class="good">ok</span>
                  ) : (
                    <span class="faint">–</span>
                  )}
                </td>
                <td class="mono">{functionName(tx.to, tx.input)}</td>
                <td>
                  <Who address={tx.from} />
                </td>
                <td>
                  <Who address={tx.to ?? receipt?.contractAddress} />
                </td>
                <td class="num">{tx.value === '0x0' ? <span class="faint">0</span> : ether(BigInt(tx.value))}</td>
                <td class="num">{used === undefined ? '–' : grouped(used)}</td>
                <td class="nowrap">{used !== undefined && <Meter part={used / all} />}</td>
              </tr>
            )
          })}
        </tbody>
      </table>
      {block.transactions.length > most && (
        <div class="empty">
          <button type="button" class="button" onClick={() => setMost(most + ROWS_MAX)}>
            Show more of {grouped(block.transactions.length)}
          </button>
        </div>
      )}
    </div>
  )
}

/** What transactions of a block are, counted. */
function kinds(block: Block): string {
  const sums = new Map<string, number>()
  for (const { to, input } of block.transactions) {
    const kind = to === null ? 'creations' : input === '0x' ? 'transfers' : 'calls'
    sums.set(kind, (sums.get(kind) ?? 0) + 1)
  }
  return [...sums].map(([kind, n]) => `${grouped(n)} ${n === 1 ? kind.slice(0, -1) : kind}`).join(', ') || 'none'
}

/** Whether a block has left the chain; looked at with each new head. */
function useLeft(block: Block | undefined): boolean {
  const [left, setLeft] = useState<string>()
  const newest = head.value?.hash
  useEffect(() => {
    if (block === undefined || newest === undefined) return
    const gone = new AbortController()
    rpc<Header | null>('eth_getBlockByNumber', [block.number, false], gone.signal).then(
      (now) => setLeft(now?.hash === block.hash ? undefined : block.hash),
      () => undefined,
    )
    return () => gone.abort()
  }, [block?.hash, newest])
  return block !== undefined && left === block.hash
}

export function BlockPage({ id }: { readonly id: string }): JSX.Element {
  const isValid = isHash(id) || isHeight(id) || isTag(id)
  // A tag means another block with each new head, and a height after a reorganisation.
  const key = isTag(id) ? `block ${id} ${head.value?.hash ?? ''}` : `block ${id}`
  const { value, error, reload } = useResource(isValid ? key : undefined, (signal) => load(id, signal), isHash(id))
  const now = useNow(5000)
  const block = value?.block
  const newest = head.value === undefined ? undefined : number(head.value.number)
  const left = useLeft(block)
  // A block that does not exist yet may come with each new head.
  useEffect(() => {
    if (value === null) reload()
  }, [head.value?.hash])
  usePainted(!isValid || value !== undefined || error !== undefined ? `/block/${id}` : undefined)
  document.title = `Block ${block === undefined ? id.slice(0, 12) : grouped(number(block.number))} · Hearth`
  if (!isValid) {
    return (
      <Message id="bad-block" title="This is no block">
        <p>A block is named by its height, its hash (0x and 64 hex digits), or one of latest, safe, finalized and earliest.</p>
      </Message>
    )
  }
  if (error !== undefined) return <Trouble error={error} retry={reload} />
  if (value === undefined) return <Wait what="Reading the block" />
  if (value === null || block === undefined) {
    return (
      <Message id="unknown-block" title="This node does not have the block">
        <p>
          {isHeight(id) && newest !== undefined && Number(id) > newest
            ? `The newest block is ${grouped(newest)}: block ${grouped(Number(id))} does not exist yet.`
            : 'No block of this chain has that hash; it may have left the chain in a reorganisation.'}
        </p>
        <div class="row">
          <button type="button" class="button" onClick={reload}>
            Look again
          </button>
          <a class="button" href={blockPath('latest')}>
            The newest block
          </a>
        </div>
      </Message>
    )
  }
  const height = number(block.number)
  const failed = value.receipts?.filter(({ status }) => status === '0x0').length ?? 0
  return (
    <>
      <div class="title">
        <div class="what">
          <div class="line">
            <h1>Block {grouped(height)}</h1>
            {failed > 0 && <span class="chip bad">{grouped(failed)} failed</span>}
          </div>
          <span class="hash">
            {block.hash}
            <Copy text={block.hash} what="hash" />
          </span>
        </div>
        <nav class="actions" aria-label="Blocks beside this one">
          {height > 0 && (
            <a class="button" href={blockPath(height - 1)} data-testid="previous-block">
              ← {grouped(height - 1)}
            </a>
          )}
          {(newest === undefined || height < newest) && (
            <a class="button" href={blockPath(height + 1)} data-testid="next-block">
              {grouped(height + 1)} →
            </a>
          )}
        </nav>
      </div>
      {left && (
        <div class="note" role="alert" data-testid="left-chain">
          <span>This block left the chain in a reorganisation. What is shown is from before.</span>
          <a class="button small" href={blockPath(height)} onClick={reload}>
            The block at height {grouped(height)} now
          </a>
        </div>
      )}
      <Card>
        <dl class="facts">
          <Fact name="Time">
            {time(number(block.timestamp))} <span class="under">{age(number(block.timestamp), now)}</span>
          </Fact>
          <Fact name="Transactions">
            {grouped(block.transactions.length)} <span class="under">{kinds(block)}</span>
          </Fact>
          <Fact name="Gas used">
            {grouped(number(block.gasUsed))}{' '}
            <span class="under">
              {percent(number(block.gasUsed), number(block.gasLimit))} of {grouped(number(block.gasLimit))}
            </span>
          </Fact>
          <Fact name="Base fee">
            {block.baseFeePerGas === undefined ? <span class="faint">none before London</span> : gwei(BigInt(block.baseFeePerGas))}
          </Fact>
          <Fact name="Made by">
            <Who address={block.miner} copy />
          </Fact>
          <Fact name="Size">{block.size === undefined ? '–' : bytes(number(block.size))}</Fact>
          <Fact name="Parent">
            <a class="mono" href={height > 0 ? blockPath(block.parentHash) : '/'} title={block.parentHash}>
              {block.parentHash.slice(0, 10)}…{block.parentHash.slice(-6)}
            </a>
          </Fact>
          <Fact name="State root">
            <span class="mono" title={block.stateRoot}>
              {block.stateRoot.slice(0, 10)}…{block.stateRoot.slice(-6)}
            </span>
            <Copy text={block.stateRoot} what="state root" />
          </Fact>
        </dl>
      </Card>
      {block.transactions.length > 0 && height > 0 && <Flame block={block} />}
      <Card title="Transactions">
        <Rows {...value} />
      </Card>
    </>
  )
}
