// Decoded values by their names.
import type { JSX } from 'preact'
import type { Argument } from '../../explore/index.ts'
import { Foreign, Who } from '../parts/small.tsx'
import { isAddress } from '../store/chain.ts'
import { names } from '../store/names.ts'

export const Arguments = ({ args }: { readonly args: readonly Argument[] }): JSX.Element => (
  <dl class="args-list">
    {args.map(({ name, type, value }, i) => (
      <>
        <dt>
          {name ?? i} <span class="type">{type}</span>
        </dt>
        <dd>
          {typeof value === 'string' && isAddress(value) ? <Who address={value} whole /> : <Foreign text={names.value.value(value)} />}
        </dd>
      </>
    ))}
  </dl>
)
