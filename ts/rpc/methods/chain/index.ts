// The methods of the namespace chain, listed by hand: no file becomes an endpoint by accident.
export { chainAddress } from './getChainAddress.ts'
export { chainCosmosTx } from './getCosmosTx.ts'
export { chainEvmAddress } from './getEVMAddress.ts'
export { chainTransactionReceipt } from './getTransactionReceipt.ts'
