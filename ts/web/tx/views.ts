// The views of a transaction that most readers open later, or never: one file, loaded with the
// first of them.
export { Balances } from './balances.tsx'
export { Events } from './events.tsx'
export { Gas } from './gas.tsx'
export { Raw } from './raw.tsx'
export { StateDiff } from './state.tsx'
export { StorageHeat } from './storage.tsx'
