// The flags of hearth dev: short names of settings, and what is done once.
import type { Flag } from '../args.ts'

/** Flags of the development chain. */
export const DEV_FLAGS: Readonly<Record<string, Flag>> = {
  home: { value: 'DIR', doc: 'Home directory, in which the chain stays. Without it nothing is left behind.' },
  host: { value: 'HOST', settings: ['evm.http_host', 'evm.ws_host'], doc: 'Address to listen on.' },
  port: { value: 'PORT', settings: ['evm.http_port'], doc: 'Port of JSON-RPC over HTTP and WebSocket.' },
  hardfork: { value: 'NAME', settings: ['dev.hardfork'], doc: 'The newest fork whose rules hold.' },
  'gas-limit': { value: 'GAS', settings: ['dev.gas_limit'], doc: 'Gas limit of every block.' },
  'base-fee': { value: 'WEI', settings: ['dev.base_fee'], doc: 'Base fee of the first block.' },
  timestamp: { value: 'SECONDS', settings: ['dev.timestamp'], doc: 'Time of the first block, in seconds since 1970.' },
  accounts: { value: 'N', settings: ['dev.accounts'], doc: 'Number of funded accounts.' },
  mnemonic: { value: 'PHRASE', settings: ['dev.mnemonic'], doc: 'The phrase that the accounts are derived from.' },
  balance: { value: 'ETHER', settings: ['dev.balance'], doc: 'Balance of each funded account.' },
  'chain-id': { value: 'ID', settings: ['dev.chain_id'], doc: 'Chain id.' },
  'block-time': { value: 'SECONDS', settings: ['dev.block_time'], doc: 'Makes blocks by the clock, not by transaction.' },
  'mixed-mining': { settings: ['dev.mixed_mining'], doc: 'With --block-time: a block for each transaction too.' },
  'no-mining': { settings: ['dev.no_mining'], doc: 'Makes blocks on demand alone.' },
  order: { value: 'fees|fifo', settings: ['dev.order'], doc: 'Which transactions come first.' },
  'auto-impersonate': { settings: ['dev.auto_impersonate'], doc: 'Takes transactions from any account without its key.' },
  'code-size-limit': {
    value: 'BYTES',
    settings: ['dev.code_size_limit'],
    doc: 'Size of the largest contract, in place of that of EIP-170.',
  },
  'disable-code-size-limit': { settings: ['dev.code_size_limit'], sets: 'none', doc: 'Contracts of any size.' },
  'throw-on-revert': { settings: ['dev.throw_on_revert'], doc: 'Sending a transaction that reverts is an error, as with Hardhat’s node.' },
  state: { value: 'FILE', doc: 'Loads the state from a file where there is one, and writes it there at the end.' },
  'load-state': { value: 'FILE', doc: 'Loads the state from a file, as anvil_dumpState or anvil wrote it.' },
  'dump-state': { value: 'FILE', doc: 'Writes the state to a file at the end.' },
  'fork-url': { value: 'URL', settings: ['dev.fork_url'], doc: 'Goes on from the chain of another node.' },
  'fork-block': { value: 'N', settings: ['dev.fork_block'], doc: 'The block that the fork begins after; the newest one otherwise.' },
  'fork-timeout': { value: 'DURATION', settings: ['dev.fork_timeout'], doc: 'Longest wait for the origin of a fork.' },
  demo: { doc: 'Fills a new chain with transactions worth tracing, and prints their hashes.' },
  silent: { settings: ['dev.silent'], doc: 'Prints nothing but errors.' },
  json: { settings: ['dev.json'], doc: 'Prints lines of JSON.' },
  'client-version': { value: 'TEXT', settings: ['evm.client_version'], doc: 'What web3_clientVersion answers.' },
}
