// The methods of the namespace web3, listed by hand: no file becomes an endpoint by accident.
export { clientVersion } from './clientVersion.ts'
export { sha3 } from './sha3.ts'
