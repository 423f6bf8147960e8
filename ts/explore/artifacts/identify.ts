// Which codes of a trace are to be named, and the names that follow.
import type { Frame } from '../tree.ts'
import { isCreation } from '../tree.ts'
import type { ContractAnswer, ProfiledCode } from './views.ts'

/** Addresses of a trace that are named. */
export const NAMED_MAX = 1024

/** Creations without an account whose code is compared. */
export const CREATIONS_MAX = 16

/** The codes of a trace: accounts by address in lower case, and frames that made no account. */
export interface Wanted {
  readonly addresses: readonly string[]
  /** By number in preorder, with their data. */
  readonly creations: readonly { readonly frame: number; readonly data: string }[]
}

/** What is to be named in traces. */
export function wantedOf(frames: readonly Frame[]): Wanted {
  const addresses = new Set<string>()
  const creations: { frame: number; data: string }[] = []
  for (const [frame, { kind, to, input, error }] of frames.entries()) {
    if (to !== undefined && addresses.size < NAMED_MAX) addresses.add(to.toLowerCase())
    if (isCreation(kind) && error !== undefined && creations.length < CREATIONS_MAX) creations.push({ frame, data: input.toLowerCase() })
  }
  return { addresses: [...addresses], creations }
}

/** Contracts of a trace. */
export interface Named {
  readonly addresses: ReadonlyMap<string, readonly ContractAnswer[]>
  /** By number of the frame. */
  readonly creations: ReadonlyMap<number, readonly ContractAnswer[]>
}

export const NOTHING_NAMED: Named = { addresses: new Map(), creations: new Map() }

/** Contracts by name; where several have the same code, all of their names. */
export const nameOf = (contracts: readonly ContractAnswer[]): string => [...new Set(contracts.map(({ name }) => name))].join(' or ')

/** Names of addresses. */
export const labelsOf = ({ addresses }: Named): Map<string, string> =>
  new Map([...addresses].map(([address, contracts]) => [address, nameOf(contracts)]))

/** Signatures of all contracts, each once. */
export const signaturesOf = ({ addresses, creations }: Named): string[] => [
  ...new Set([...addresses.values(), ...creations.values()].flatMap((all) => all.flatMap(({ signatures }) => signatures))),
]

/** The contract whose code a frame runs; undefined where it is not named. */
export function contractOf({ addresses, creations }: Named, frame: Frame, number: number): ContractAnswer | undefined {
  const made = creations.get(number)
  return (made ?? (frame.to === undefined ? undefined : addresses.get(frame.to.toLowerCase())))?.[0]
}

/**
 * The contracts whose code works on the storage of an account: its own, and those that it runs by
 * DELEGATECALL, which a proxy's variables are of.
 */
export function contractsAt({ addresses }: Named, frames: Iterable<Frame>, address: string): ContractAnswer[] {
  const account = address.toLowerCase()
  const codes = new Set([account])
  for (const frame of frames) {
    const isBorrowed = frame.kind === 'DELEGATECALL' || frame.kind === 'CALLCODE'
    if (isBorrowed && frame.to !== undefined && frame.from.toLowerCase() === account) codes.add(frame.to.toLowerCase())
  }
  return [...codes].flatMap((code) => addresses.get(code)?.[0] ?? [])
}

/** The contract of a code of a profile. */
export function contractOfCode({ addresses, creations }: Named, { init, addresses: at }: ProfiledCode): ContractAnswer | undefined {
  for (const address of at) {
    const found = addresses.get(address.toLowerCase())?.[0]
    if (found !== undefined) return found
  }
  // A creation that failed left no account by which its code could be known.
  return init && creations.size === 1 ? [...creations.values()][0]?.[0] : undefined
}
