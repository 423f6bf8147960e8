// The numbers of the SDK's enums are copied into the project: they must equal those of the
// installed SDK.
import { ValueType } from '@opentelemetry/api'
import { AggregationTemporality, DataPointType } from '@opentelemetry/sdk-metrics'
import { expect, it } from 'vitest'
import { CUMULATIVE, DOUBLE, GAUGE, HISTOGRAM, SUM } from '../../ts/metrics/sdk-kinds.ts'

it('the kinds of metrics are those of the SDK', () => {
  expect([DOUBLE, CUMULATIVE, GAUGE, HISTOGRAM, SUM]).toEqual([
    ValueType.DOUBLE,
    AggregationTemporality.CUMULATIVE,
    DataPointType.GAUGE,
    DataPointType.HISTOGRAM,
    DataPointType.SUM,
  ])
})
