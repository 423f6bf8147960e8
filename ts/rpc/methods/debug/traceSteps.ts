// debug_traceSteps: A page of the steps of an execution.
import { rangeOptions, stepsOf, underRules, withinLimits } from '../../codec/index.ts'
import { method, required } from '../../method.ts'

export const traceSteps = method({
  name: 'debug_traceSteps',
  doc:
    'Steps `from` to before `to` of a transaction or call, at most 1,000: `{steps, next?}`. A step has `index` and `frame`, else it is a struct log; ' +
    '`fields` are `stack`, `storage`, `returnData` (default: the first two), `stackTop` items of the stack, `memory: {offset, length}` of at most 64 KiB and 16 ' +
    'steps. With `frame` the steps of that frame and of what it calls are counted, with `own` its own alone. `next` is there where 4 MiB cut the page.',
  result: '`{steps, next}`',
  cost: 'heavy',
  params: [required('of', stepsOf), required('options', rangeOptions)],
  handle: ({ core, trace, overrides }, of, given) => {
    withinLimits(of.call?.stateOverrides, overrides)
    const { options, timeout } = given
    return core.stream('traceSteps', { ...of, options, config: underRules({ timeout }, trace) })
  },
})
