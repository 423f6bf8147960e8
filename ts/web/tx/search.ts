// The search of steps as a reader types it: `SSTORE`, `slot:0x0 op:SSTORE`, `pc:12`, `gas>=20000`,
// `error`.

/** What debug_traceStepSearch takes as `where`. */
export interface Where {
  op?: string | string[]
  pc?: number
  address?: string
  slot?: string
  topic?: string
  depth?: number
  frame?: number
  gasCostAtLeast?: number
  error?: boolean
}

const HELP = 'Search by opcode (SSTORE, or SLOAD,SSTORE), slot:0x…, address:0x…, topic:0x…, pc:N, depth:N, frame:N, gas>=N, error'

const number = (text: string): number | undefined =>
  /^\d{1,15}$/.test(text) ? Number(text) : /^0x[0-9a-f]{1,12}$/i.test(text) ? Number(text) : undefined

function add(where: Where, name: string, value: string): boolean {
  const n = number(value)
  switch (name) {
    case 'op': {
      const ops = value.toUpperCase().split(',').filter(Boolean)
      if (ops.length === 0 || ops.some((op) => !/^[A-Z][A-Z0-9]{1,15}$/.test(op))) return false
      where.op = ops.length === 1 ? (ops[0] as string) : ops
      return true
    }
    case 'pc':
    case 'depth':
    case 'frame':
      if (n === undefined) return false
      where[name] = n
      return true
    case 'gas':
      if (n === undefined) return false
      where.gasCostAtLeast = n
      return true
    case 'address':
      if (!/^0x[0-9a-f]{40}$/i.test(value)) return false
      where.address = value
      return true
    case 'slot':
    case 'topic':
      if (!/^0x[0-9a-f]{1,64}$/i.test(value)) return false
      where[name] = name === 'topic' ? `0x${value.slice(2).padStart(64, '0')}` : value
      return true
    default:
      return false
  }
}

/** Reads a search; a text where it does not read. */
export function whereOf(text: string): Where | { readonly said: string } {
  const where: Where = {}
  const words = text.trim().split(/\s+/).filter(Boolean)
  if (words.length === 0) return { said: HELP }
  for (const word of words) {
    const [, name = 'op', value = word] = /^([a-z]+)(?::|>=|=)(.+)$/i.exec(word) ?? []
    if (word.toLowerCase() === 'error') where.error = true
    else if (!add(where, name.toLowerCase(), value)) return { said: `${JSON.stringify(word.slice(0, 60))} does not read. ${HELP}` }
  }
  return where
}
