// The methods of the namespace net, listed by hand: no file becomes an endpoint by accident.
export { listening } from './listening.ts'
export { peerCount } from './peerCount.ts'
export { version } from './version.ts'
