// The origin of a fork: finding it, asking it, and what is read from it in place of the core.
export { shownUrl } from '../peers/post.ts'
export { OriginError } from './batches.ts'
export { forkedCore } from './core.ts'
export { ForkError, findOrigin, type Origin, type OriginBlock } from './point.ts'
