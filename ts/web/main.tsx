// The explorer: one page that draws what the node's JSON-RPC says.
import type { JSX } from 'preact'
import { render } from 'preact'
import { HomePage } from './pages/home.tsx'
import { TransactionPage } from './pages/transaction.tsx'
import { late } from './parts/lazy.tsx'
import { usePainted } from './parts/small.tsx'
import { Message } from './parts/trouble.tsx'
import { Shell } from './shell.tsx'
import { listen } from './store/live.ts'
import { followLinks, route } from './store/router.ts'
import { startTheme } from './store/theme.ts'

const BlockPage = late(async () => (await import('./pages/block.tsx')).BlockPage)
const AddressPage = late(async () => (await import('./pages/address.tsx')).AddressPage)
const CallPage = late(async () => (await import('./tools/call.tsx')).CallPage)
const ComparePage = late(async () => (await import('./tools/compare.tsx')).ComparePage)
const TracerPage = late(async () => (await import('./tools/tracer.tsx')).TracerPage)

function Unknown({ path }: { readonly path: string }): JSX.Element {
  usePainted(path)
  return (
    <Message id="unknown-page" title="There is no such page">
      <p>
        Pages are / for the newest blocks, /block/HEIGHT, /tx/HASH, /address/ADDRESS, /call, /compare/HASH/HASH and /tracer. The search box
        above takes any of these.
      </p>
    </Message>
  )
}

function Page(): JSX.Element {
  const here = route.value
  if (here.page === 'home') return <HomePage />
  if (here.page === 'block') return <BlockPage key={here.id} id={here.id} />
  if (here.page === 'tx') return <TransactionPage key={here.hash} hash={here.hash} view={here.view} />
  if (here.page === 'address') return <AddressPage key={here.address} address={here.address} />
  if (here.page === 'call') return <CallPage view={here.view} />
  if (here.page === 'compare') return <ComparePage key={`${here.a} ${here.b}`} a={here.a} b={here.b} />
  if (here.page === 'tracer') return <TracerPage />
  return <Unknown path={here.path} />
}

startTheme()
followLinks()
listen()
const root = document.getElementById('app')
if (root !== null) {
  root.replaceChildren()
  render(
    <Shell>
      <Page />
    </Shell>,
    root,
  )
}
