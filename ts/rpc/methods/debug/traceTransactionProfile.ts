// debug_traceTransactionProfile: A trace and where its time went.
import { hash, traceConfig, underRules } from '../../codec/index.ts'
import { method, optional, required } from '../../method.ts'

export const traceTransactionProfile = method({
  name: 'debug_traceTransactionProfile',
  doc:
    'Trace of one transaction and where its time went: `{trace, profile: {totalNanos, historicalDbLookupNanos, otherNanos, phases, store}}`. ' +
    '`phases` has `lookupTransactionNanos`, `loadBlockNanos`, `buildBlockContextNanos`, `replayHistoricalTxsNanos`, `prepareTxNanos`, ' +
    '`executionNanos` and `traceResultNanos`; `historicalDbLookupNanos` is the reads of the state store in all of them; `otherNanos` is the ' +
    'total without the execution and the reads outside of it; `store` has number and time of the reads by kind.',
  result: '`{trace, profile}`',
  cost: 'heavy',
  params: [required('hash', hash), optional('config', traceConfig)],
  handle: ({ core, trace, warn }, hash, config) =>
    core.stream('traceTransactionProfile', { hash, config: underRules(config, trace, { warn }) }),
})
