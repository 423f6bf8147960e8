// Which accounts have more and which have less.
import type { JSX } from 'preact'
import { useMemo } from 'preact/hooks'
import { type BalanceChange, balanceChanges } from '../../explore/index.ts'
import { amount, ether, groupedBig } from '../parts/format.ts'
import { Card, Empty, Foreign, Wait, Who } from '../parts/small.tsx'
import { Trouble } from '../parts/trouble.tsx'
import { names } from '../store/names.ts'
import { useResource } from '../store/resource.ts'
import { rpcOr } from '../store/rpc.ts'
import { type Trace, useChanges } from './load.ts'

/** Tokens that are asked for their decimals and symbol. */
const TOKENS_MAX = 50

/** `decimals()` and `symbol()`. */
const [DECIMALS, SYMBOL] = ['0x313ce567', '0x95d89b41']

/** Decimals that are believed. */
const DECIMALS_MAX = 77

interface Token {
  /**
   * Undefined where the contract does not say, or says 0: a home that has a part of the state
   * answers 0 for what it does not have.
   */
  readonly decimals: number | undefined
  readonly symbol: string | undefined
}

async function tokenOf(token: string, block: string, signal: AbortSignal): Promise<Token> {
  const [decimals, symbol] = await Promise.all(
    [DECIMALS, SYMBOL].map((data) => rpcOr<string>('eth_call', [{ to: token, data }, block], signal)),
  )
  const n = decimals !== undefined && /^0x0{1,62}[0-9a-f]{1,2}$/.test(decimals) && decimals.length === 66 ? Number(decimals) : 0
  const text = symbol === undefined ? undefined : names.value.decodeResult(SYMBOL, symbol)?.[0]?.value
  return { decimals: n > 0 && n <= DECIMALS_MAX ? n : undefined, symbol: typeof text === 'string' && text !== '' ? text : undefined }
}

function Amount({ change, token }: { readonly change: BalanceChange; readonly token: Token | undefined }): JSX.Element {
  const sign = change.delta > 0n ? '+' : '−'
  const size = change.delta < 0n ? -change.delta : change.delta
  const shown =
    change.token === undefined
      ? ether(size)
      : change.id !== undefined || token?.decimals === undefined
        ? groupedBig(size)
        : amount(size, token.decimals)
  return (
    <span class={change.delta > 0n ? 'good' : 'bad'} data-testid="delta" data-delta={String(change.delta)}>
      {sign}
      {shown}
    </span>
  )
}

function Asset({ change, token }: { readonly change: BalanceChange; readonly token: Token | undefined }): JSX.Element {
  if (change.token === undefined) return <span>ether</span>
  return (
    <span class="who">
      {token?.symbol !== undefined && (
        <strong>
          <Foreign text={token.symbol} />
        </strong>
      )}
      <Who address={change.token} />
      {change.id !== undefined && <span class="faint">#{groupedBig(change.id).slice(0, 24)}</span>}
      {change.id === undefined && token !== undefined && token.decimals === undefined && <span class="chip warn">raw units</span>}
    </span>
  )
}

interface Props {
  readonly hash: string
  readonly block: string
  readonly height: string
  readonly trace: Trace
}

export function Balances({ hash, block, height, trace }: Props): JSX.Element {
  const { value: changes, error, reload } = useChanges(hash, block)
  const rows = useMemo(() => balanceChanges(trace.top, changes ?? []), [trace, changes])
  const tokens = useMemo(() => [...new Set(rows.flatMap(({ token }) => token ?? []))].slice(0, TOKENS_MAX), [rows])
  const { value: known } = useResource(
    tokens.length === 0 || changes === undefined ? undefined : `tokens ${hash} ${block}`,
    async (signal) => {
      const all = new Map<string, Token>()
      for (const token of tokens) all.set(token, await tokenOf(token, height, signal))
      return all
    },
  )
  if (error !== undefined) return <Trouble error={error} retry={reload} />
  if (changes === undefined) return <Wait what="Reading what changed" />
  const accounts = [...new Set(rows.map(({ address }) => address))]
  return (
    <Card title="Balance changes" more={<span class="faint">ether by the state, tokens by their events; fees are part of ether</span>}>
      {rows.length === 0 ? (
        <Empty title="No balance changed" />
      ) : (
        <div class="scroll">
          <table class="list">
            <thead>
              <tr>
                <th>Account</th>
                <th>Asset</th>
                <th class="num">Change</th>
              </tr>
            </thead>
            <tbody>
              {accounts.flatMap((address) =>
                rows
                  .filter((row) => row.address === address)
                  .map((row, i) => {
                    const token = row.token === undefined ? undefined : known?.get(row.token)
                    return (
                      <tr key={`${address}-${i}`} data-testid="balance-row" data-address={address} data-token={row.token ?? 'ether'}>
                        <td>{i === 0 && <Who address={address} copy />}</td>
                        <td>
                          <Asset change={row} token={token} />
                        </td>
                        <td class="num">
                          <Amount change={row} token={token} />
                        </td>
                      </tr>
                    )
                  }),
              )}
            </tbody>
          </table>
        </div>
      )}
    </Card>
  )
}
