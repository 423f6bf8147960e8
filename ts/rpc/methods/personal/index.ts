// The methods of the namespace personal, listed by hand: no file becomes an endpoint by accident.
export { personalSign } from './sign.ts'
