// More of an account: its code as instructions, its storage, its newest transactions.
import type { JSX } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { disassembled } from '../../explore/disassembly.ts'
import { opcodeHint } from '../../explore/index.ts'
import { grouped } from '../parts/format.ts'
import { Card, Empty, Foreign, Segments, TxLink, Wait, Who } from '../parts/small.tsx'
import { Trouble } from '../parts/trouble.tsx'
import { VirtualList } from '../parts/vlist.tsx'
import { names } from '../store/names.ts'
import { type Resource, useResource } from '../store/resource.ts'
import { rpc } from '../store/rpc.ts'
import { Word } from '../tx/words.tsx'
import { DevAccount } from './dev.tsx'
import { useStyle } from './style.ts'

/** Slots of one request. */
const SLOTS = 100

/** Newest blocks whose transactions are looked through, and requests at a time. */
const [BLOCKS, AT_A_TIME] = [200, 20]

const ROW_HEIGHT = 20

interface StoragePage {
  readonly storage: Readonly<Record<string, { readonly key: string | null; readonly value: string }>>
  readonly nextKey: string | null
}

function Storage({ address, block }: { readonly address: string; readonly block: string }): JSX.Element {
  const [starts, setStarts] = useState<readonly string[]>(['0x'])
  const start = starts.at(-1) as string
  const { value, error, reload } = useResource(`storage ${address} ${block} ${start}`, async (signal) => {
    // The method knows the state before each transaction, and that of a block without any.
    const transactions = Number(await rpc<string>('eth_getBlockTransactionCountByHash', [block], signal))
    return await rpc<StoragePage>('debug_storageRangeAt', [block, Math.max(0, transactions - 1), address, start, SLOTS], signal)
  })
  if (error !== undefined) return <Trouble error={error} retry={reload} />
  if (value === undefined) return <Wait what="Reading the storage" />
  const rows = Object.entries(value.storage)
  return (
    <>
      <p class="said faint">As it was before the last transaction of the newest block.</p>
      {rows.length === 0 && <Empty title="No slot has a value" />}
      <div class="scroll">
        <table class="list">
          <thead>
            <tr>
              <th>Slot</th>
              <th>Value</th>
            </tr>
          </thead>
          <tbody>
            {rows.map(([hash, { key, value: word }]) => (
              <tr key={hash} data-testid="storage-row">
                <td class="mono">
                  {key === null ? <span title={hash}>hash {hash.slice(0, 12)}…</span> : <Word word={key} decimal={false} />}
                </td>
                <td class="mono">
                  <Word word={word} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <div class="form-end">
        <button type="button" class="button small" disabled={starts.length === 1} onClick={() => setStarts(starts.slice(0, -1))}>
          Back
        </button>
        <button
          type="button"
          class="button small"
          disabled={value.nextKey === null}
          onClick={() => setStarts([...starts, value.nextKey as string])}
        >
          More
        </button>
      </div>
    </>
  )
}

interface BlockTransactions {
  readonly number: string
  readonly transactions: readonly { readonly hash: string; readonly from: string; readonly to: string | null; readonly value: string }[]
}

/** Transactions from or to an account among the newest blocks. */
async function newest(
  address: string,
  height: number,
  signal: AbortSignal,
): Promise<{ readonly block: number; readonly hash: string; readonly from: string; readonly to: string | null }[]> {
  const found: { block: number; hash: string; from: string; to: string | null }[] = []
  const least = Math.max(0, height - BLOCKS + 1)
  for (let at = height; at >= least; at -= AT_A_TIME) {
    const heights = Array.from({ length: Math.min(AT_A_TIME, at - least + 1) }, (_, i) => at - i)
    const blocks = await Promise.all(
      heights.map((n) => rpc<BlockTransactions | null>('eth_getBlockByNumber', [`0x${n.toString(16)}`, true], signal)),
    )
    for (const block of blocks) {
      for (const { hash, from, to } of [...(block?.transactions ?? [])].reverse())
        if (from === address || to === address) found.push({ block: Number(block?.number), hash, from, to })
    }
  }
  return found
}

/** The block up to which a list goes: after a reorganisation its height is that of another one. */
interface Newest {
  readonly block: string
  readonly height: number
}

/** A list up to the newest block. One that loads is finished first: blocks may come faster. */
function useNewest<T>(name: string, { block, height }: Newest, load: (at: number, signal: AbortSignal) => Promise<T>): Resource<T> {
  const [at, setAt] = useState<Newest>({ block, height })
  const { value, error, reload } = useResource(`${name} ${at.block}`, (signal) => load(at.height, signal))
  useEffect(() => {
    if (value !== undefined || error !== undefined) setAt({ block, height })
  }, [block, value, error])
  // The list at the block before stays until that at the newest one is there.
  const last = useRef(value)
  if (value !== undefined) last.current = value
  return { value: last.current, error, reload }
}

function Transactions({ address, ...at }: Newest & { readonly address: string }): JSX.Element {
  const { value, error, reload } = useNewest(`newest ${address}`, at, (height, signal) => newest(address, height, signal))
  if (error !== undefined) return <Trouble error={error} retry={reload} />
  if (value === undefined) return <Empty title={`Looking through the newest ${BLOCKS} blocks`} />
  return (
    <>
      <p class="said faint">From and to this account among the newest {BLOCKS} blocks; trace_filter finds older ones.</p>
      {value.length === 0 ? (
        <Empty title="None" />
      ) : (
        <div class="scroll">
          <table class="list">
            <thead>
              <tr>
                <th>Block</th>
                <th>Transaction</th>
                <th>From</th>
                <th>To</th>
              </tr>
            </thead>
            <tbody>
              {value.map(({ block, hash, from, to }) => (
                <tr key={hash} data-testid="account-tx">
                  <td class="mono">{grouped(block)}</td>
                  <td>
                    <TxLink hash={hash} />
                  </td>
                  <td>
                    <Who address={from} />
                  </td>
                  <td>{to === null ? <span class="faint">makes a contract</span> : <Who address={to} />}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </>
  )
}

interface Log {
  readonly blockNumber: string
  readonly transactionHash: string
  readonly logIndex: string
  readonly topics: readonly string[]
  readonly data: string
}

/** Events that are listed, the newest ones. */
const EVENTS_MAX = 200

function Events({ address, ...at }: Newest & { readonly address: string }): JSX.Element {
  const { value, error, reload } = useNewest(`events ${address}`, at, async (height, signal) => {
    const [from, to] = [Math.max(0, height - BLOCKS + 1), height].map((n) => `0x${n.toString(16)}`)
    return await rpc<readonly Log[]>('eth_getLogs', [{ address, fromBlock: from, toBlock: to }], signal)
  })
  if (error !== undefined) return <Trouble error={error} retry={reload} />
  if (value === undefined) return <Wait what="Reading the events" />
  return (
    <>
      <p class="said faint">
        Of this account among the newest {BLOCKS} blocks
        {value.length > EVENTS_MAX && `, the newest ${grouped(EVENTS_MAX)} of ${grouped(value.length)}`}; eth_getLogs finds older ones.
      </p>
      {value.length === 0 ? (
        <Empty title="None" />
      ) : (
        <div class="scroll">
          <table class="list">
            <thead>
              <tr>
                <th>Block</th>
                <th>Transaction</th>
                <th>Event</th>
              </tr>
            </thead>
            <tbody>
              {[...value]
                .slice(-EVENTS_MAX)
                .reverse()
                .map(({ blockNumber, transactionHash, logIndex, topics, data }) => (
                  <tr key={`${blockNumber} ${logIndex}`} data-testid="account-event">
                    <td class="mono">{grouped(Number(blockNumber))}</td>
                    <td>
                      <TxLink hash={transactionHash} />
                    </td>
                    <td class="mono">
                      <Foreign text={names.value.event(topics, data)} />
                    </td>
                  </tr>
                ))}
            </tbody>
          </table>
        </div>
      )}
    </>
  )
}

function Disassembly({ code }: { readonly code: string }): JSX.Element {
  const rows = useMemo(() => disassembled(code), [code])
  return (
    <VirtualList
      class="disassembly"
      count={rows.length}
      rowHeight={ROW_HEIGHT}
      fit
      row={(i) => {
        const { pc, name, data, isTarget } = rows[i] as (typeof rows)[number]
        return (
          <div key={i} class={`dline${isTarget ? ' target' : ''}`} role="listitem" data-testid="instruction">
            <span class="ln">{pc.toString(16).padStart(4, '0')}</span>
            <span title={opcodeHint(name)}>{name}</span>
            <span class="faint">{data}</span>
          </div>
        )
      }}
      attributes={{ role: 'list', tabIndex: 0, 'aria-label': 'Instructions of the code' }}
    />
  )
}

type View = 'transactions' | 'events' | 'instructions' | 'storage'

interface Props {
  readonly address: string
  readonly code: string
  /** Of the block after which the account is shown. */
  readonly block: string
  readonly height: number
}

export function AccountMore({ address: given, code, block, height }: Props): JSX.Element {
  useStyle()
  const address = given.toLowerCase()
  const [view, setView] = useState<View>('transactions')
  const isContract = code !== '0x'
  return (
    <>
      <DevAccount address={address} />
      <Card
        title="More"
        testid="account-more"
        more={
          <>
            {isContract && (
              <a class="button small" href={`/call?to=${address}`}>
                Call it
              </a>
            )}
            <Segments
              label="What is shown"
              value={view}
              onChange={setView}
              options={
                isContract
                  ? [
                      ['transactions', 'Transactions'],
                      ['events', 'Events'],
                      ['instructions', 'Instructions'],
                      ['storage', 'Storage'],
                    ]
                  : [['transactions', 'Transactions']]
              }
            />
          </>
        }
      >
        {view === 'transactions' ? (
          <Transactions key={address} address={address} block={block} height={height} />
        ) : view === 'events' ? (
          <Events key={address} address={address} block={block} height={height} />
        ) : view === 'instructions' ? (
          <Disassembly code={code} />
        ) : (
          <Storage address={address} block={block} />
        )}
      </Card>
    </>
  )
}
