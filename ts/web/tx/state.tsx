// What the transaction changed in the state, account by account.
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { type AccountChange, namedSlot, type Preimages, type SlotChange } from '../../explore/index.ts'
import { byteCount, ether, grouped } from '../parts/format.ts'
import { Card, Empty, Wait, Who } from '../parts/small.tsx'
import { Trouble } from '../parts/trouble.tsx'
import { go, txPath } from '../store/router.ts'
import { rpc } from '../store/rpc.ts'
import type { Contracts } from '../tools/contracts.ts'
import { useChanges } from './load.ts'
import { usePreimages } from './slots.ts'
import { Word } from './words.tsx'

/** Slots of an account that are drawn at once. */
const SLOTS_SHOWN = 100

interface Hits {
  readonly hits: readonly { readonly index: number }[]
}

/** Leads to the last step that wrote a slot. */
function Writer({ hash, address, slot }: { readonly hash: string; readonly address: string; readonly slot: string }): JSX.Element {
  const [said, setSaid] = useState<string>()
  const find = async (): Promise<void> => {
    try {
      const where = { op: 'SSTORE', address, slot }
      const { hits } = await rpc<Hits>('debug_traceStepSearch', [hash, { backwards: true, count: 1, where }])
      const last = hits[0]
      if (last === undefined) setSaid('no step wrote it')
      else go(txPath(hash, 'steps', { at: last.index }))
    } catch (e) {
      setSaid(e instanceof Error ? e.message : String(e))
    }
  }
  if (said !== undefined) return <span class="faint">{said}</span>
  return (
    <button type="button" class="button small" onClick={() => void find()} title="The step that wrote it last">
      who wrote it
    </button>
  )
}

function SlotRow({
  hash,
  address,
  change,
  preimages,
  contracts,
}: {
  readonly hash: string
  readonly address: string
  readonly change: SlotChange
  readonly preimages: Preimages | undefined
  readonly contracts: Contracts | undefined
}): JSX.Element {
  const parts = preimages === undefined ? [] : (contracts?.slot(address, change, preimages) ?? [])
  const name = preimages === undefined || parts.length > 0 ? undefined : namedSlot(change.slot, preimages)
  return (
    <tr data-testid="slot-row" data-slot={change.slot}>
      <td>
        {name !== undefined && <span class="slot-name">{name}</span>}
        {parts.map((part) => (
          <span key={part.name} class="slot-name foreign" data-testid="slot-part" title={part.type}>
            <bdi>{part.name}</bdi>
          </span>
        ))}
        <Word word={change.slot} decimal={false} />
      </td>
      <td>
        {parts.map((part) => (
          <div key={part.name} class="foreign" data-testid="part-change">
            <bdi>{part.before}</bdi>
            <span class="to" aria-hidden="true">
              →
            </span>
            <span class="hidden">became</span>
            <bdi>{part.after}</bdi>
          </div>
        ))}
        <Word word={change.before} />
        <span class="to" aria-hidden="true">
          →
        </span>
        <span class="hidden">became</span>
        <Word word={change.after} />
      </td>
      <td class="num">
        <Writer hash={hash} address={address} slot={change.slot} />
      </td>
    </tr>
  )
}

function Account({
  hash,
  account,
  preimages,
  contracts,
}: {
  readonly hash: string
  readonly account: AccountChange
  readonly preimages: Preimages | undefined
  readonly contracts: Contracts | undefined
}): JSX.Element {
  const [most, setMost] = useState(SLOTS_SHOWN)
  const { address, fate, balance, nonce, code, storage } = account
  const delta = balance === undefined ? 0n : balance.after - balance.before
  const arrow = (
    <span class="to" aria-hidden="true">
      →
    </span>
  )
  return (
    <section class="account" data-testid="account-row" data-address={address}>
      <div class="line">
        <Who address={address} whole copy />
        {fate !== 'changed' && <span class={`chip ${fate === 'created' ? 'good' : 'bad'}`}>{fate}</span>}
      </div>
      <table>
        <tbody>
          {balance !== undefined && (
            <tr>
              <td>balance</td>
              <td colSpan={2}>
                {ether(balance.before)}
                {arrow}
                {ether(balance.after)}{' '}
                <span class={delta > 0n ? 'good' : 'bad'}>
                  ({delta > 0n ? '+' : '−'}
                  {ether(delta < 0n ? -delta : delta)})
                </span>
              </td>
            </tr>
          )}
          {nonce !== undefined && (
            <tr>
              <td>nonce</td>
              <td colSpan={2}>
                {grouped(nonce.before)}
                {arrow}
                {grouped(nonce.after)}
              </td>
            </tr>
          )}
          {code !== undefined && (
            <tr>
              <td>code</td>
              <td colSpan={2}>
                {grouped(byteCount(code.before))} bytes{arrow}
                {grouped(byteCount(code.after))} bytes
              </td>
            </tr>
          )}
          {storage.slice(0, most).map((change) => (
            <SlotRow key={change.slot} hash={hash} address={address} change={change} preimages={preimages} contracts={contracts} />
          ))}
        </tbody>
      </table>
      {storage.length > most && (
        <button type="button" class="button small" onClick={() => setMost(most + SLOTS_SHOWN)}>
          Show more of {grouped(storage.length)} slots
        </button>
      )}
    </section>
  )
}

interface Props {
  readonly hash: string
  readonly block: string
  readonly contracts: Contracts | undefined
}

export function StateDiff({ hash, block, contracts }: Props): JSX.Element {
  const { value: changes, error, reload } = useChanges(hash, block)
  const preimages = usePreimages(hash, block)
  if (error !== undefined) return <Trouble error={error} retry={reload} />
  if (changes === undefined) return <Wait what="Reading what changed" />
  const slots = changes.reduce((sum, { storage }) => sum + storage.length, 0)
  return (
    <Card
      title="State changes"
      more={
        <span class="faint">
          {grouped(changes.length)} accounts, {grouped(slots)} slots; mappings are named by the hashes that the transaction computed
        </span>
      }
    >
      {changes.length === 0 ? (
        <Empty title="Nothing changed" />
      ) : (
        changes.map((account) => (
          <Account key={account.address} hash={hash} account={account} preimages={preimages} contracts={contracts} />
        ))
      )}
    </Card>
  )
}
