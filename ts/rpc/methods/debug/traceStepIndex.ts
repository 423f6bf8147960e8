// debug_traceStepIndex: How many steps an execution has, and which frame has which of them.
import { indexOptions, stepsOf, underRules, withinLimits } from '../../codec/index.ts'
import { method, optional, required } from '../../method.ts'

const NOTHING = { options: {}, timeout: undefined }

export const traceStepIndex = method({
  name: 'debug_traceStepIndex',
  doc:
    'Steps of a transaction, or of a call `{transaction, block, txIndex?, stateOverrides?, blockOverrides?}`: `{steps, gasUsed, failed, every, marks, frames}`. ' +
    'A step is one struct log, numbered from 0. `frames` are those of callTracer in the order in which it lists them: `[first, last, own, parent, depth]`, first and last ' +
    'own step and their number; null where a frame has no step; at most 65,536, then `framesOmitted` is their number. `marks` is `[frame, pc, gas]` of every ' +
    '`every`-th step.',
  result: '`{steps, gasUsed, failed, every, marks, frames}`',
  cost: 'heavy',
  params: [required('of', stepsOf), optional('options', indexOptions)],
  handle: ({ core, trace, overrides }, of, given = NOTHING) => {
    withinLimits(of.call?.stateOverrides, overrides)
    const { options, timeout } = given
    return core.stream('traceStepIndex', { ...of, options, config: underRules({ timeout }, trace) })
  },
})
