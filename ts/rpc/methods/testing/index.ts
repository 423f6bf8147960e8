// The methods of the namespace testing, listed by hand: no file becomes an endpoint by accident.
export { buildBlockV1 } from './buildBlockV1.ts'
