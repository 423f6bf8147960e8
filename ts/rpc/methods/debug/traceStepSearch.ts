// debug_traceStepSearch: Steps of a kind, from a step on or before it.
import { searchOptions, stepsOf, underRules, withinLimits } from '../../codec/index.ts'
import { method, required } from '../../method.ts'

export const traceStepSearch = method({
  name: 'debug_traceStepSearch',
  doc:
    'Steps of a transaction or call that `where` is true of: `{hits: [{index, pc, op, frame}], next?}`. `where` has `op` (a name or several), `pc`, ' +
    '`address` (whose storage or code), `slot`, `topic`, `depth`, `frame`, `gasCostAtLeast`, `error`; all that are given must hold. At most `count` (200) from ' +
    '`from` on, or with `backwards` before it; `next` is where to continue.',
  result: '`{hits, next}`',
  cost: 'heavy',
  params: [required('of', stepsOf), required('options', searchOptions)],
  handle: ({ core, trace, overrides }, of, given) => {
    withinLimits(of.call?.stateOverrides, overrides)
    const { options, timeout } = given
    return core.stream('traceStepSearch', { ...of, options, config: underRules({ timeout }, trace) })
  },
})
