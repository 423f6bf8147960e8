// Buttons for development chains: blocks, time, snapshots, accounts. They are shown where the node
// has the methods.
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { amountOf, BadWhatIf } from '../../explore/index.ts'
import { Card } from '../parts/small.tsx'
import { isAddress } from '../store/chain.ts'
import { useResource } from '../store/resource.ts'
import { rpc, rpcOr } from '../store/rpc.ts'
import { useStyle } from './style.ts'

const SNAPSHOTS = 'hearth-snapshots'

/** Snapshots that the tab lists. */
const SNAPSHOTS_MAX = 20

/** Whether the node is a development chain: it knows its automatic mining. */
function useDevChain(): boolean {
  const { value } = useResource('dev chain', async (signal) => (await rpcOr<boolean>('anvil_getAutomine', [], signal)) !== undefined)
  return value === true
}

/** Does something and says what came of it. */
function useDoing(): { readonly said: string | undefined; readonly act: (work: () => Promise<string>) => void } {
  const [said, setSaid] = useState<string>()
  const act = (work: () => Promise<string>): void => {
    setSaid('…')
    work().then(setSaid, (e: unknown) => setSaid(e instanceof Error ? e.message : String(e)))
  }
  return { said, act }
}

const count = (text: string, name: string): string => {
  if (!/^\d{1,9}$/.test(text.trim())) throw new BadWhatIf(`${name} takes a whole number`)
  return `0x${Number(text).toString(16)}`
}

function snapshotsKept(): string[] {
  try {
    const read: unknown = JSON.parse(sessionStorage.getItem(SNAPSHOTS) ?? '[]')
    return Array.isArray(read) ? read.filter((one): one is string => typeof one === 'string').slice(-SNAPSHOTS_MAX) : []
  } catch {
    return []
  }
}

/** Blocks, time and snapshots. */
export function DevPanel(): JSX.Element | null {
  useStyle()
  const isDev = useDevChain()
  const { said, act } = useDoing()
  const [blocks, setBlocks] = useState('1')
  const [seconds, setSeconds] = useState('3600')
  const [snapshots, setSnapshots] = useState(snapshotsKept)
  if (!isDev) return null
  const keep = (next: string[]): void => {
    setSnapshots(next)
    sessionStorage.setItem(SNAPSHOTS, JSON.stringify(next.slice(-SNAPSHOTS_MAX)))
  }
  const last = snapshots.at(-1)
  const mine = async (): Promise<string> => {
    await rpc('anvil_mine', [count(blocks, 'Blocks')])
    return `Block ${Number(await rpc<string>('eth_blockNumber', []))} is the newest`
  }
  const travel = async (): Promise<string> => {
    await rpc('evm_increaseTime', [count(seconds, 'Seconds')])
    await rpc('evm_mine', [])
    return `A block was made ${seconds.trim()} s later`
  }
  const snapshot = async (): Promise<string> => {
    const id = await rpc<string>('evm_snapshot', [])
    keep([...snapshots, id])
    return `Snapshot ${id} is taken`
  }
  const revert = async (): Promise<string> => {
    const isDone = await rpc<boolean>('evm_revert', [last])
    keep(snapshots.slice(0, -1))
    return isDone ? `The chain is back at snapshot ${last}` : `There is no snapshot ${last} any more`
  }
  return (
    <Card title="Development chain" testid="dev-panel">
      <div class="dev-row">
        <form
          onSubmit={(event) => {
            event.preventDefault()
            act(mine)
          }}
        >
          <input
            class="field"
            aria-label="Blocks"
            inputMode="numeric"
            value={blocks}
            onInput={(event) => setBlocks(event.currentTarget.value)}
          />
          <button type="submit" class="button" data-testid="dev-mine">
            Mine blocks
          </button>
        </form>
        <form
          onSubmit={(event) => {
            event.preventDefault()
            act(travel)
          }}
        >
          <input
            class="field"
            aria-label="Seconds"
            inputMode="numeric"
            value={seconds}
            onInput={(event) => setSeconds(event.currentTarget.value)}
          />
          <button type="submit" class="button" data-testid="dev-time">
            Seconds later
          </button>
        </form>
        <button type="button" class="button" onClick={() => act(snapshot)} data-testid="dev-snapshot">
          Snapshot
        </button>
        <button type="button" class="button" disabled={last === undefined} onClick={() => act(revert)} data-testid="dev-revert">
          {last === undefined ? 'Revert' : `Revert to ${last}`}
        </button>
        {said !== undefined && (
          <span class="soft" role="status" data-testid="dev-said">
            <bdi>{said}</bdi>
          </span>
        )}
      </div>
    </Card>
  )
}

/**
 * What the home page has beside its lists: the pages that ask, and the buttons of a development
 * chain.
 */
export function HomeTools({ isDev }: { readonly isDev: boolean }): JSX.Element {
  useStyle()
  return (
    <>
      <nav class="tools" aria-label="Tools">
        <a class="button" href="/call">
          What if
        </a>
        <a class="button" href="/tracer">
          Tracer
        </a>
      </nav>
      {isDev && <DevPanel />}
    </>
  )
}

/** Balance, impersonation and sending of an account. */
export function DevAccount({ address }: { readonly address: string }): JSX.Element | null {
  useStyle()
  const isDev = useDevChain()
  const { said, act } = useDoing()
  const [balance, setBalance] = useState('100 ether')
  const [to, setTo] = useState('')
  const [value, setValue] = useState('1 ether')
  if (!isDev) return null
  const set = async (): Promise<string> => {
    await rpc('anvil_setBalance', [address, amountOf(balance, 'Balance')])
    await rpc('evm_mine', [])
    return `The balance is ${balance.trim()}`
  }
  const impersonate = async (is: boolean): Promise<string> => {
    await rpc(is ? 'anvil_impersonateAccount' : 'anvil_stopImpersonatingAccount', [address])
    return is ? 'The node signs for this account' : 'The node signs for this account no more'
  }
  const send = async (): Promise<string> => {
    if (!isAddress(to.trim().toLowerCase())) throw new BadWhatIf('To takes an address, 0x and 40 hex digits')
    return `Sent: ${await rpc<string>('eth_sendTransaction', [{ from: address, to: to.trim(), value: amountOf(value, 'Value') }])}`
  }
  return (
    <Card title="Development chain" testid="dev-account">
      <div class="dev-row">
        <form
          onSubmit={(event) => {
            event.preventDefault()
            act(set)
          }}
        >
          <input
            class="field"
            aria-label="Balance"
            value={balance}
            onInput={(event) => setBalance(event.currentTarget.value)}
            data-testid="dev-balance"
          />
          <button type="submit" class="button" data-testid="dev-set-balance">
            Set balance
          </button>
        </form>
        <button type="button" class="button" onClick={() => act(() => impersonate(true))} data-testid="dev-impersonate">
          Impersonate
        </button>
        <button type="button" class="button" onClick={() => act(() => impersonate(false))}>
          Stop
        </button>
        <form
          onSubmit={(event) => {
            event.preventDefault()
            act(send)
          }}
        >
          <input class="field" aria-label="Value" value={value} onInput={(event) => setValue(event.currentTarget.value)} />
          <input
            class="field address"
            aria-label="To"
            placeholder="To 0x…"
            value={to}
            onInput={(event) => setTo(event.currentTarget.value)}
            data-testid="dev-to"
          />
          <button type="submit" class="button" data-testid="dev-send">
            Send from it
          </button>
        </form>
        {said !== undefined && (
          <span class="soft" role="status" data-testid="dev-said">
            <bdi>{said}</bdi>
          </span>
        )}
      </div>
    </Card>
  )
}
