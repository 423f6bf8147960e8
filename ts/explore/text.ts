// A transaction as text: a line of facts, the failure first, then the tree of calls.
import { failureChain, type Role } from './failure.ts'
import { hotFunctions } from './hot.ts'
import type { Names } from './names.ts'
import { printable } from './printable.ts'
import { type EventItem, type Frame, isCreation, isFrame } from './tree.ts'

/** What stands above the tree. */
export interface Heading {
  readonly hash: string
  /** Height and place of the transaction. */
  readonly block: number
  /** Undefined for a call on the state after the block. */
  readonly index: number | undefined
  /** Gas that the transaction used, its intrinsic part included, and its limit. */
  readonly gasUsed: number
  readonly gasLimit: number
}

/** How a tree is printed. */
export interface TreeOptions {
  /** Frames deeper than this are left out. */
  readonly depth?: number | undefined
  /** Longest line, in characters; no limit where absent. */
  readonly width?: number | undefined
}

/** Digits in groups of three. */
export const grouped = (n: number): string => String(n).replace(/\B(?=(\d{3})+$)/g, ',')

const WEI_PER_ETHER = 10n ** 18n

/** Wei as ether, without zeros at the end. */
export function ether(wei: bigint): string {
  const [whole, rest] = [wei / WEI_PER_ETHER, wei % WEI_PER_ETHER]
  const digits = rest.toString().padStart(18, '0').replace(/0+$/, '')
  return `${whole}${digits === '' ? '' : `.${digits}`} ether`
}

/** Whom a frame calls, and what. */
export function target({ kind, to, input, value }: Frame, names: Names): string {
  const who = to === undefined ? 'new' : names.address(to)
  const paid = value > 0n ? `{value: ${ether(value)}}` : ''
  if (isCreation(kind)) return `new ${who}${paid} (${(input.length - 2) / 2} bytes of code)`
  return `${who}${paid}::${names.call(input)}`
}

/** What a frame that failed says, or what the EVM says of it. */
export function failure({ error, output }: Frame, names: Names): string {
  return names.reason(output) ?? printable(error ?? '')
}

const cut = (line: string, width: number | undefined): string =>
  width === undefined || line.length <= width ? line : `${line.slice(0, Math.max(1, width - 1))}…`

/** The frames that failed, where the failure arose first. */
export function failureText(top: Frame, names: Names): string[] {
  return failureChain(top).map(({ role, frame }) => {
    const said = role === 'passed on' ? '' : `  ${role === 'dropped' ? '(no data)' : failure(frame, names)}`
    return `${role.padEnd(9)} [${frame.id}] ${target(frame, names)}${said}`
  })
}

/** What became of the failure in a frame; of a failure that was caught, what it said. */
export function markText(frame: Frame, role: Role | undefined, names: Names): string {
  if (role === 'passed on' || role === 'dropped') return role
  return role === 'replaced' ? `replaced: ${failure(frame, names)}` : failure(frame, names)
}

function frameLine(frame: Frame, role: Role | undefined, names: Names): string {
  const mark = frame.error === undefined ? '' : `  ✗ ${markText(frame, role, names)}`
  return `[${grouped(frame.gasUsed)}] ${frame.kind} ${target(frame, names)}${mark}`
}

const eventLine = ({ topics, data, address }: EventItem, names: Names): string =>
  `emit ${names.address(address)} ${names.event(topics, data)}`

/** The tree of calls, a line each; a line of what is given back under those that give something. */
export function treeText(top: Frame, names: Names, { depth = Number.POSITIVE_INFINITY, width }: TreeOptions = {}): string[] {
  const roles = new Map(failureChain(top).map(({ role, frame }) => [frame.id, role]))
  const lines: string[] = [cut(frameLine(top, roles.get(top.id), names), width)]
  /** Items that are not printed, the next one last, each with what stands before its lines. */
  const waiting: { readonly line: string; readonly under?: Frame; readonly before: string; readonly isLast: boolean }[] = []
  const push = (frame: Frame, before: string): void => {
    const inside = frame.depth >= depth ? [] : frame.items
    const left = frame.items.length - inside.length
    const rows = inside.map((item) =>
      isFrame(item) ? { line: frameLine(item, roles.get(item.id), names), under: item } : { line: eventLine(item, names) },
    )
    if (left > 0) rows.push({ line: `… ${left} more` })
    const gives = frame.error === undefined && frame.output !== '0x' && !isCreation(frame.kind)
    if (gives) rows.push({ line: `← ${names.bytes(frame.output)}` })
    for (let i = rows.length - 1; i >= 0; i--) {
      waiting.push({ ...(rows[i] as { line: string; under?: Frame }), before, isLast: i === rows.length - 1 })
    }
  }
  push(top, '')
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { line, under, before, isLast } = next
    lines.push(cut(`${before}${isLast ? '└─ ' : '├─ '}${line}`, width))
    if (under !== undefined) push(under, `${before}${isLast ? '   ' : '│  '}`)
  }
  return lines
}

/** The line of facts. */
export function headingText({ hash, block, index, gasUsed, gasLimit }: Heading, top: Frame): string {
  const outcome = top.error === undefined ? '' : '   FAILED'
  const place = index === undefined ? `after block ${block}` : `block ${block} #${index}`
  return `${hash}  ${place}${outcome}   gas ${grouped(gasUsed)} of ${grouped(gasLimit)}`
}

/** Heading, failure and tree. */
export function transactionText(heading: Heading, top: Frame, names: Names, options: TreeOptions = {}): string {
  const failed = failureText(top, names).map((line) => cut(line, options.width))
  const parts = [headingText(heading, top), ...failed, ...(failed.length > 0 ? [''] : []), ...treeText(top, names, options)]
  return `${parts.join('\n')}\n`
}

/**
 * Gas by called function: own gas of all frames of one contract and function, the largest first.
 */
export function gasText(tops: readonly { readonly frames: Iterable<Frame> }[], names: Names, most = 50): string {
  const rows = hotFunctions(
    (function* () {
      for (const { frames } of tops) yield* frames
    })(),
    names,
  )
  const all = rows.reduce((sum, { gas }) => sum + gas, 0)
  const lines = rows.slice(0, most).map(({ name, gas, calls }) => {
    const share = all === 0 ? 0 : (100 * gas) / all
    return `${grouped(gas).padStart(12)}  ${share.toFixed(1).padStart(5)} %  ${String(calls).padStart(6)} calls  ${name}`
  })
  if (rows.length > most) lines.push(`… ${rows.length - most} more`)
  return `${lines.join('\n')}\n`
}
