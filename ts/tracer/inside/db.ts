// The `db` of a script.
import { bigOfWord } from './big.ts'
import { bytesFrom, copyOf } from './bytes.ts'
import { FIELD } from './fields.ts'
import { need } from './interrupt.ts'
import type { State } from './state.ts'

/** Makes the object over a state; `recorded` tells the fields of the run. */
export function dbOver(state: State, recorded: () => number): object {
  const address = (value: unknown): number => {
    const bytes = bytesFrom(value, false)
    if ((recorded() & FIELD.journal) === 0) need(FIELD.journal)
    return state.addressOf(bytes)
  }
  return {
    getBalance: (of: unknown): object => bigOfWord(state.account(address(of)).balance, 0),
    getNonce: (of: unknown): number => state.account(address(of)).nonce,
    getCode: (of: unknown): Uint8Array => copyOf(state.code(address(of))),
    getState: (of: unknown, key: unknown): Uint8Array => {
      const account = address(of)
      return copyOf(state.slot(account, bytesFrom(key, false)))
    },
    exists: (of: unknown): boolean => state.account(address(of)).exists,
  }
}
