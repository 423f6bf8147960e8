// eth_simulateV1: Blocks of calls on top of a block, each on what those before it left; nothing is
// kept.
import { allWithinLimits, blockRef, simulation } from '../../codec/index.ts'
import { method, optional, required } from '../../method.ts'

export const simulateV1 = method({
  name: 'eth_simulateV1',
  doc: 'Simulates blocks of calls on top of a block, each on the state that the ones before left; returns their headers, results and logs. Nothing is stored.',
  result: 'block[], each with `calls`',
  cost: 'heavy',
  params: [required('options', simulation, {}), optional('block', blockRef)],
  handle: ({ core, overrides }, options, block) => {
    allWithinLimits(
      (options.blockStateCalls ?? []).map((calls) => calls.stateOverrides),
      overrides,
    )
    return core.request('simulateV1', { options, block })
  },
})
