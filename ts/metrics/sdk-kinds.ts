// What the SDK calls the kinds of metrics. Its modules are loaded with the first page, since that takes longer than all else of a start.
import type { ValueType } from '@opentelemetry/api'
import type { AggregationTemporality, DataPointType } from '@opentelemetry/sdk-metrics'

export const DOUBLE = 1 as ValueType.DOUBLE
export const CUMULATIVE = 1 as AggregationTemporality.CUMULATIVE
export const HISTOGRAM = 0 as DataPointType.HISTOGRAM
export const GAUGE = 2 as DataPointType.GAUGE
export const SUM = 3 as DataPointType.SUM
