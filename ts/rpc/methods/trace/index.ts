// The methods of the trace_ namespace: OpenEthereum's, in the form in which Besu answers them.
import type { Method } from '../../method.ts'
import { traceBlockCalls } from './block.ts'
import { traceCallParts } from './call.ts'
import { traceCallManyParts } from './callMany.ts'
import { traceFilterCalls } from './filter.ts'
import { traceGet } from './get.ts'
import { traceRawTransaction } from './rawTransaction.ts'
import { traceReplayBlockTransactions } from './replayBlockTransactions.ts'
import { traceReplayTransaction } from './replayTransaction.ts'
import { traceTransactionCalls } from './transaction.ts'

export const TRACE_METHODS: readonly Method[] = [
  traceBlockCalls,
  traceTransactionCalls,
  traceGet,
  traceFilterCalls,
  traceReplayTransaction,
  traceReplayBlockTransactions,
  traceCallParts,
  traceCallManyParts,
  traceRawTransaction,
]
