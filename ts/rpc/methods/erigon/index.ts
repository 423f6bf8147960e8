// The methods of the namespace erigon, listed by hand: no file becomes an endpoint by accident.
export { erigonHeaderByNumber } from './getHeaderByNumber.ts'
