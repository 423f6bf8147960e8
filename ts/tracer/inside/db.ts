// The `db` of a script.
import { bigOfWord } from './big.ts'
import { bytesFrom, copyOf } from './bytes.ts'
import { FIELD } from './fields.ts'
import { need } from './interrupt.ts'
import type { Account, State } from './state.ts'

/** Makes the object over the state of the run; `recorded` returns the object's recorded fields. */
export function dbOver(stateNow: () => State, recorded: () => number): object {
  /**
   * Number of an address. Where the journal is got for it, the state is another one from then on.
   */
  const address = (value: unknown): number => {
    const bytes = bytesFrom(value, false)
    if ((recorded() & FIELD.journal) === 0) need(FIELD.journal)
    return stateNow().addressOf(bytes)
  }
  const account = (of: unknown): Account => {
    const number = address(of)
    return stateNow().account(number)
  }
  return {
    getBalance: (of: unknown): object => bigOfWord(account(of).balance, 0),
    getNonce: (of: unknown): number => account(of).nonce,
    getCode: (of: unknown): Uint8Array => {
      const number = address(of)
      return copyOf(stateNow().code(number))
    },
    getState: (of: unknown, key: unknown): Uint8Array => {
      const number = address(of)
      return copyOf(stateNow().slot(number, bytesFrom(key, false)))
    },
    exists: (of: unknown): boolean => account(of).exists,
  }
}
