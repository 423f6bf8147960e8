// Following another node: blocks with what proves them, finality, and the requests that need state.
export { type FollowNode, type FollowOptions, followNode } from './node.ts'
export { Upstream } from './upstream.ts'
