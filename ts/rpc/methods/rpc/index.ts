// The methods of the namespace rpc, listed by hand: no file becomes an endpoint by accident.
export { modules } from './modules.ts'
