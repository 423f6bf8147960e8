// Following another node: blocks with what proves them, finality, and the requests that need state.
export type { FollowEvents } from './follower.ts'
export { type FollowNode, type FollowOptions, followNode } from './node.ts'
export { reached } from './reached.ts'
export { FollowError, Upstream } from './upstream.ts'
