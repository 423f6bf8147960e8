// Every method that this node has: those that the index files of the namespaces list, the Engine
// API's, and those of development chains.
import { DEV_NAMESPACES as NAMESPACES_OF_DEV } from '../config/index.ts'
import { chainDisabled, methodNotFound } from './errors.ts'
import type { Method } from './method.ts'
import * as chain from './methods/chain/index.ts'
import * as debug from './methods/debug/index.ts'
import { DEV_METHODS } from './methods/dev/index.ts'
import { ENGINE_METHODS } from './methods/engine/index.ts'
import * as erigon from './methods/erigon/index.ts'
import * as eth from './methods/eth/index.ts'
import * as net from './methods/net/index.ts'
import * as ots from './methods/ots/index.ts'
import * as personal from './methods/personal/index.ts'
import * as rpc from './methods/rpc/index.ts'
import * as testing from './methods/testing/index.ts'
import * as trace from './methods/trace/index.ts'
import * as txpool from './methods/txpool/index.ts'
import * as web3 from './methods/web3/index.ts'

const NAMESPACES = [eth, net, web3, txpool, debug, trace, ots, erigon, rpc, chain, personal, testing]

/** The methods of a namespace by name: bundlers and test runners have orders of their own. */
const byName = (methods: Readonly<Record<string, Method>>): Method[] => Object.values(methods).sort((a, b) => (a.name < b.name ? -1 : 1))

/** All methods; those of a namespace are in the order of their names. */
export const METHODS: readonly Method[] = [...NAMESPACES.flatMap(byName), ...ENGINE_METHODS, ...DEV_METHODS]

/** The namespace of a method's name: what stands before the first underscore. */
export const namespaceOf = (name: string): string => name.slice(0, Math.max(0, name.indexOf('_')))

const names = new Set(METHODS.map((m) => m.name))

/**
 * Whether a name is of the namespace `chain`, whatever its case: what is not known there is not
 * enabled.
 */
export const isLegacy = (name: string): boolean => (name.charCodeAt(0) | 0x20) === 0x63 && /^chain_/i.test(name)

/** Whether a name is in the table, served or not. */
export const isMethod = (name: string): boolean => names.has(name)

/** Namespaces of the development chain, which are always served there, and nowhere else. */
export const DEV_NAMESPACES: readonly string[] = NAMESPACES_OF_DEV

/** The namespaces of which a node serves methods, of those that it is to serve. */
export function servedNamespaces(namespaces: readonly string[], dev: boolean): readonly string[] {
  const common = namespaces.filter((name) => !DEV_NAMESPACES.includes(name))
  const known = new Set(METHODS.map((m) => namespaceOf(m.name)))
  return dev ? [...common, ...DEV_NAMESPACES.filter((name) => known.has(name))] : common
}

/**
 * The methods of the served namespaces, without denied ones, by name; with `only`, just those of
 * them.
 */
export function methodTable(
  namespaces: readonly string[],
  denied: readonly string[],
  only?: ReadonlySet<string>,
  legacy: ReadonlySet<string> = new Set(),
): ReadonlyMap<string, Method> {
  const served = new Set(namespaces)
  const dev = DEV_NAMESPACES.some((name) => served.has(name))
  const isServed = (m: Method): boolean =>
    served.has(namespaceOf(m.name)) &&
    (!isLegacy(m.name) || legacy.has(m.name.toLowerCase())) &&
    (dev || !ofDev.has(m)) &&
    !denied.includes(m.name) &&
    only?.has(m.name) !== false
  return new Map(METHODS.filter(isServed).map((m) => [m.name, m]))
}

/**
 * The method of this name in a node's table; throws the error for one that the table does not have.
 */
export function servedMethod(table: ReadonlyMap<string, Method>, name: string): Method {
  const method = table.get(name)
  if (method !== undefined) return method
  throw isLegacy(name) ? chainDisabled(name) : methodNotFound(name)
}

const ofDev: ReadonlySet<Method> = new Set(DEV_METHODS)
