// The SDK's names of the kinds of metrics. Its modules are loaded with the first page, because
// loading them takes longer than the rest of a start.
import type { ValueType } from '@opentelemetry/api'
import type { AggregationTemporality, DataPointType } from '@opentelemetry/sdk-metrics'

export const DOUBLE = 1 as ValueType.DOUBLE
export const CUMULATIVE = 1 as AggregationTemporality.CUMULATIVE
export const HISTOGRAM = 0 as DataPointType.HISTOGRAM
export const GAUGE = 2 as DataPointType.GAUGE
export const SUM = 3 as DataPointType.SUM
