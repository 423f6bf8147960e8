// debug_traceGasProfile: Gas of an execution or of a block by code, by opcode or by frame.
import { profileOptions, stepsOrBlock, underRules, withinLimits } from '../../codec/index.ts'
import { method, optional, required } from '../../method.ts'

const NOTHING = { options: {}, timeout: undefined }

export const traceGasProfile = method({
  name: 'debug_traceGasProfile',
  doc:
    'Gas of the steps of a transaction, a call or a block `{block}`, each without what it handed on: `{by, steps, executionGas, stepsGas, codes?, rows}`. ' +
    '`by` is `pc` (rows `[code, pc, op, count, gas]`), `opcode` (`[op, count, gas]`) or `frame` (`[steps, own gas, gas used]` in the order of callTracer). With `marks` of ' +
    'jumps (`[{hash, init?, in, out}]`) also `stacks`, the functions as a tree: `[parent, code, pc, count, gas]`.',
  result: '`{by, steps, executionGas, stepsGas, codes, rows, stacks}`',
  cost: 'heavy',
  params: [required('of', stepsOrBlock), optional('options', profileOptions)],
  handle: ({ core, trace, overrides }, of, given = NOTHING) => {
    withinLimits(of.call?.stateOverrides, overrides)
    const { options, timeout } = given
    return core.stream('traceGasProfile', { ...of, options, config: underRules({ timeout }, trace) })
  },
})
