// `hearth trace --call`: a call that is not mined; overrides of state and block for it and for
// replays.
import { amountOf, BadWhatIf, blockOf, callData, type WhatIf, withBlockOverride, withStateOverride } from '../../explore/index.ts'
import { type Parsed, UsageError } from '../args.ts'
import { readFile } from './names.ts'

/** Flags that say what is called; they stand beside --call alone. */
const CALL_FLAGS = ['to', 'sig', 'data', 'from', 'value', 'gas-limit', 'block'] as const

/** Runs `work`; what does not read in it is the command line's fault. */
export function readable<T>(flag: string, work: () => T): T {
  try {
    return work()
  } catch (e) {
    throw e instanceof BadWhatIf ? new UsageError(`--${flag}: ${e.message}`) : e
  }
}

/** `--override` and `--block-override` as a function of what-ifs; undefined without them. */
export function overridesOf({ lists }: Parsed): ((whatIf: WhatIf) => WhatIf) | undefined {
  const [state, block] = [lists.get('override') ?? [], lists.get('block-override') ?? []]
  if (state.length + block.length === 0) return undefined
  const code = (file: string): string => readFile('override', file)
  const all = (whatIf: WhatIf): WhatIf => ({
    ...whatIf,
    stateOverrides: state.reduce<WhatIf['stateOverrides']>((before, text) => withStateOverride(before, text, code), whatIf.stateOverrides),
    blockOverrides: block.reduce<WhatIf['blockOverrides']>(withBlockOverride, whatIf.blockOverrides),
  })
  const flag = state.length > 0 ? 'override' : 'block-override'
  readable(flag, () => all({ call: {}, block: 'latest' }))
  return all
}

function addressOf(flag: string, text: string | undefined): string | undefined {
  if (text !== undefined && !/^0x[0-9a-fA-F]{40}$/.test(text))
    throw new UsageError(`--${flag} takes an address, 0x and 40 hex digits, not ${JSON.stringify(text)}`)
  return text?.toLowerCase()
}

/** `B` or `B:INDEX`. */
function placeOf(text: string): Pick<WhatIf, 'block' | 'index'> {
  const [, block = '', index] = /^([^:]*)(?::(.*))?$/s.exec(text) ?? []
  if (index !== undefined && !/^\d{1,6}$/.test(index))
    throw new UsageError(`--block takes a block and, behind a colon, the place of a transaction in it, not ${JSON.stringify(text)}`)
  return { block: readable('block', () => blockOf(block)), index: index === undefined ? undefined : Number(index) }
}

function dataOf({ flags, files }: Parsed): string {
  const [sig, data] = [flags.get('sig'), flags.get('data')]
  if (sig !== undefined && data !== undefined) throw new UsageError('--sig and --data both give the data of the call: give one of them')
  if (sig !== undefined) return readable('sig', () => callData(sig, files))
  if (files.length > 0) throw new UsageError(`${JSON.stringify(files[0])}: arguments need --sig, the signature of the function`)
  if (data !== undefined && !/^0x([0-9a-fA-F]{2})*$/.test(data))
    throw new UsageError('--data takes bytes in hex, two digits each, behind 0x')
  return data ?? '0x'
}

/** The call of a command line; undefined without `--call`. */
export function callOf(parsed: Parsed): WhatIf | undefined {
  const { flags } = parsed
  if (flags.get('call') !== 'true') {
    const stray = CALL_FLAGS.find((name) => flags.has(name))
    if (stray !== undefined) throw new UsageError(`--${stray} is of a call: give --call beside it`)
    return undefined
  }
  const amounts = { value: flags.get('value'), gas: flags.get('gas-limit') }
  const call: Record<string, string> = { data: dataOf(parsed) }
  for (const flag of ['from', 'to'] as const) {
    const address = addressOf(flag, flags.get(flag))
    if (address !== undefined) call[flag] = address
  }
  for (const [field, text] of Object.entries(amounts)) if (text !== undefined) call[field] = readable(field, () => amountOf(text, field))
  const whatIf: WhatIf = { call, ...placeOf(flags.get('block') ?? 'latest') }
  return overridesOf(parsed)?.(whatIf) ?? whatIf
}
