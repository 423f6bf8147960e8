// The remote node of a fork: finding it, requests to it, and the reads that it answers instead of
// the core.
export { shownUrl } from '../peers/post.ts'
export { forkedCore } from './core.ts'
export { type FindOptions, ForkError, findOrigin, type Origin, type OriginBlock } from './point.ts'
