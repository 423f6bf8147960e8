// The methods of the namespace txpool, listed by hand: no file becomes an endpoint by accident.
export { content } from './content.ts'
export { contentFrom } from './contentFrom.ts'
export { inspect } from './inspect.ts'
export { status } from './status.ts'
