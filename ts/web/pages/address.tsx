// An account as it is now: balance, nonce, code.
import type { JSX } from 'preact'
import { useRef } from 'preact/hooks'
import { byteCount, ether, grouped, number } from '../parts/format.ts'
import { late } from '../parts/lazy.tsx'
import { Card, Copy, Empty, Fact, usePainted, Wait, Who } from '../parts/small.tsx'
import { Message, Trouble } from '../parts/trouble.tsx'
import { isAddress } from '../store/chain.ts'
import { head } from '../store/live.ts'
import { names } from '../store/names.ts'
import { useResource } from '../store/resource.ts'
import { addressPath } from '../store/router.ts'
import { rpc } from '../store/rpc.ts'

const AccountMore = late(async () => (await import('../tools/account.tsx')).AccountMore, true)

/** Characters of code that are shown. */
const CODE_CHARACTERS_MAX = 20_000

/** What code of an account that delegates begins with (EIP-7702). */
const DELEGATION = '0xef0100'

export function AddressPage({ address }: { readonly address: string }): JSX.Element {
  const isValid = isAddress(address)
  // By hash: two blocks of one height, before and after a reorg, are two states.
  const at = head.value
  const {
    value: loaded,
    error,
    reload,
  } = useResource(isValid ? `address ${address} ${at?.hash}` : undefined, async (signal) => {
    const block = at === undefined ? 'latest' : { blockHash: at.hash }
    const [balance, nonce, code] = await Promise.all([
      rpc<string>('eth_getBalance', [address, block], signal),
      rpc<string>('eth_getTransactionCount', [address, block], signal),
      rpc<string>('eth_getCode', [address, block], signal),
    ])
    return { address, at, balance: BigInt(balance), nonce: number(nonce), code }
  })
  // The state at the block before stays until that at the newest one is there.
  const last = useRef(loaded)
  if (loaded !== undefined) last.current = loaded
  const value = last.current?.address === address ? last.current : undefined
  usePainted(!isValid || value !== undefined || error !== undefined ? addressPath(address) : undefined)
  document.title = `${address.slice(0, 10)} · Hearth`
  if (!isValid) {
    return (
      <Message id="bad-address" title="This is no address">
        <p>An address is 0x and 40 hex digits.</p>
      </Message>
    )
  }
  if (error !== undefined) return <Trouble error={error} retry={reload} />
  if (value === undefined) return <Wait what="Reading the account" />
  const { balance, nonce, code, at: block } = value
  const delegate = code.startsWith(DELEGATION) && code.length === 48 ? `0x${code.slice(8)}` : undefined
  const label = names.value.label(address)
  return (
    <>
      <div class="title">
        <div class="what">
          <div class="line">
            <h1>{label === undefined ? 'Account' : <bdi>{label}</bdi>}</h1>
            <span class={`chip${code === '0x' ? '' : ' accent'}`}>
              {delegate !== undefined ? 'delegates' : code === '0x' ? 'no code' : 'contract'}
            </span>
          </div>
          <span class="hash">
            {address}
            <Copy text={address} what="address" />
          </span>
        </div>
      </div>
      <Card>
        <dl class="facts">
          <Fact name="Balance">{ether(balance)}</Fact>
          <Fact name="Nonce">{grouped(nonce)}</Fact>
          <Fact name="Code">{code === '0x' ? 'none' : `${grouped(byteCount(code))} bytes`}</Fact>
          <Fact name="At block">{block === undefined ? 'the newest' : grouped(number(block.number))}</Fact>
          {delegate !== undefined && (
            <Fact name="Runs the code of">
              <Who address={delegate} copy />
            </Fact>
          )}
        </dl>
      </Card>
      {block !== undefined && <AccountMore address={address} code={code} block={block.hash} height={number(block.number)} />}
      <Card title="Code" more={code === '0x' ? undefined : <Copy text={code} what="code" />}>
        {code === '0x' ? (
          <Empty title="This account has no code" />
        ) : (
          <div class="body">
            <div class="bytes">{code.length > CODE_CHARACTERS_MAX ? `${code.slice(0, CODE_CHARACTERS_MAX)}…` : code}</div>
          </div>
        )}
      </Card>
    </>
  )
}
