// The explorer: one page that draws what the node's JSON-RPC says.
import type { JSX } from 'preact'
import { render } from 'preact'
import { AddressPage } from './pages/address.tsx'
import { BlockPage } from './pages/block.tsx'
import { HomePage } from './pages/home.tsx'
import { TransactionPage } from './pages/transaction.tsx'
import { usePainted } from './parts/small.tsx'
import { Told } from './parts/trouble.tsx'
import { Shell } from './shell.tsx'
import { listen } from './store/live.ts'
import { followLinks, route } from './store/router.ts'
import { startTheme } from './store/theme.ts'

function Unknown({ path }: { readonly path: string }): JSX.Element {
  usePainted(path)
  return (
    <Told id="unknown-page" title="There is no such page">
      <p>Pages are / for the newest blocks, /block/HEIGHT, /tx/HASH and /address/ADDRESS. The search box above takes any of these.</p>
    </Told>
  )
}

function Page(): JSX.Element {
  const here = route.value
  if (here.page === 'home') return <HomePage />
  if (here.page === 'block') return <BlockPage key={here.id} id={here.id} />
  if (here.page === 'tx') return <TransactionPage key={here.hash} hash={here.hash} view={here.view} />
  if (here.page === 'address') return <AddressPage key={here.address} address={here.address} />
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
