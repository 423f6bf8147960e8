// The origin of a fork: finding it, asking it, and what is read from it in place of the core.
export { OriginError, shownUrl } from './batches.ts'
export { forkedCore } from './core.ts'
export { ForkError, findOrigin, type Origin, type OriginBlock } from './point.ts'
