// trace_filter: The calls and rewards of a range of blocks that are from or to some accounts.
import { traceFilter } from '../../codec/index.ts'
import { method, required } from '../../method.ts'
import { parity } from '../../parity.ts'

export const traceFilterCalls = method({
  name: 'trace_filter',
  doc: 'Traces and rewards of a range of blocks, by sender and receiver; `after` skips the first ones, `count` limits the result.',
  result: 'trace[]',
  cost: 'heavy',
  params: [required('filter', traceFilter)],
  handle: (context, filter) => {
    const { filterMaxBlocks: maxBlocks, filterMaxResults: maxResults } = context.trace
    return context.core.stream('traceFilter', { ...filter, maxBlocks, maxResults, config: parity(context, {}) })
  },
})
