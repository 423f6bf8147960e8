// Names of functions, errors and events by selector, and of addresses by labels. Arguments are decoded by `ox`.
import { AbiError, AbiEvent, AbiFunction, AbiParameters } from 'ox'
import { printable } from './printable.ts'

/** Signatures that every explorer knows: tokens, wrapped ether, Permit2, Multicall3, routers, Safe. */
const BUILT_IN: readonly string[] = [
  'function name()',
  'function symbol()',
  'function decimals()',
  'function totalSupply()',
  'function balanceOf(address account)',
  'function allowance(address owner, address spender)',
  'function transfer(address to, uint256 amount)',
  'function transferFrom(address from, address to, uint256 amount)',
  'function approve(address spender, uint256 amount)',
  'function permit(address owner, address spender, uint256 value, uint256 deadline, uint8 v, bytes32 r, bytes32 s)',
  'function ownerOf(uint256 tokenId)',
  'function safeTransferFrom(address from, address to, uint256 tokenId)',
  'function safeTransferFrom(address from, address to, uint256 tokenId, bytes data)',
  'function safeTransferFrom(address from, address to, uint256 id, uint256 amount, bytes data)',
  'function setApprovalForAll(address operator, bool approved)',
  'function onERC721Received(address operator, address from, uint256 tokenId, bytes data)',
  'function supportsInterface(bytes4 interfaceId)',
  'function deposit()',
  'function withdraw(uint256 amount)',
  'function asset()',
  'function convertToAssets(uint256 shares)',
  'function convertToShares(uint256 assets)',
  'function deposit(uint256 assets, address receiver)',
  'function redeem(uint256 shares, address receiver, address owner)',
  'function isValidSignature(bytes32 hash, bytes signature)',
  'function multicall(bytes[] data)',
  'function aggregate3((address target, bool allowFailure, bytes callData)[] calls)',
  'function execTransaction(address to, uint256 value, bytes data, uint8 operation, uint256 safeTxGas, uint256 baseGas, uint256 gasPrice, address gasToken, address refundReceiver, bytes signatures)',
  'function getReserves()',
  'function swap(uint256 amount0Out, uint256 amount1Out, address to, bytes data)',
  'function swapExactTokensForTokens(uint256 amountIn, uint256 amountOutMin, address[] path, address to, uint256 deadline)',
  'function swapExactTokensForETH(uint256 amountIn, uint256 amountOutMin, address[] path, address to, uint256 deadline)',
  'function swapExactETHForTokens(uint256 amountOutMin, address[] path, address to, uint256 deadline)',
  'function swapETHForExactTokens(uint256 amountOut, address[] path, address to, uint256 deadline)',
  'function exactInputSingle((address tokenIn, address tokenOut, uint24 fee, address recipient, uint256 deadline, uint256 amountIn, uint256 amountOutMinimum, uint160 sqrtPriceLimitX96) params)',
  'function swap(address recipient, bool zeroForOne, int256 amountSpecified, uint160 sqrtPriceLimitX96, bytes data)',
  'function uniswapV3SwapCallback(int256 amount0Delta, int256 amount1Delta, bytes data)',
  'event Transfer(address indexed from, address indexed to, uint256 value)',
  'event Approval(address indexed owner, address indexed spender, uint256 value)',
  'event Deposit(address indexed dst, uint256 wad)',
  'event Withdrawal(address indexed src, uint256 wad)',
  'event Sync(uint112 reserve0, uint112 reserve1)',
  'event Swap(address indexed sender, uint256 amount0In, uint256 amount1In, uint256 amount0Out, uint256 amount1Out, address indexed to)',
  'event Swap(address indexed sender, address indexed recipient, int256 amount0, int256 amount1, uint160 sqrtPriceX96, uint128 liquidity, int24 tick)',
]

/** Signatures of one source that are taken. */
export const SIGNATURES_MAX = 100_000

/** What the codes of `Panic` mean (Solidity documentation, "Panic via assert and Error via require"). */
const PANICS: ReadonlyMap<bigint, string> = new Map([
  [0x00n, 'a panic of the compiler'],
  [0x01n, 'assertion failed'],
  [0x11n, 'arithmetic overflow or underflow'],
  [0x12n, 'division or modulo by zero'],
  [0x21n, 'conversion to an enum that has no such value'],
  [0x22n, 'a byte array in storage that is encoded wrongly'],
  [0x31n, 'pop on an empty array'],
  [0x32n, 'array index out of bounds'],
  [0x41n, 'too much memory allocated'],
  [0x51n, 'call of an internal function that was never set'],
])

/** Hex digits of a selector with its prefix. */
const SELECTOR_CHARACTERS = 10

interface Parameter {
  readonly name?: string | undefined
}

/** What a signature is of, and how its arguments are read: of a call from its data, of an event from its topics as well. */
interface Known<T extends readonly unknown[] = readonly unknown[]> {
  readonly name: string
  readonly decode: (...from: T) => string
}

type KnownCall = Known<[data: string]>
type KnownEvent = Known<[topics: readonly string[], data: string]>

/** A value as text: numbers in decimal, addresses by their labels. */
type Show = (value: unknown) => string

/** Values by the names of their parameters. */
function named(inputs: readonly Parameter[], values: readonly unknown[], show: Show): string {
  const parts = inputs.map(({ name }, i) => (name ? `${printable(name)}: ${show(values[i])}` : show(values[i])))
  return parts.join(', ')
}

/** The arguments of an event, which `ox` gives as an object where all parameters are named. */
const listOf = (decoded: unknown, inputs: readonly Parameter[]): unknown[] =>
  Array.isArray(decoded) ? decoded : inputs.map(({ name }) => (decoded as Record<string, unknown> | undefined)?.[name ?? ''])

/** The arguments of a call or an error, behind its selector. */
const argumentsOf = (inputs: readonly AbiParameters.Parameter[], data: string): readonly unknown[] =>
  AbiParameters.decode(inputs, `0x${data.slice(SELECTOR_CHARACTERS)}`) as readonly unknown[]

/** A signature of a file that does not read; the message names it. */
export class BadSignature extends Error {
  override name = 'BadSignature'
}

/** Names for one rendering. */
export class Names {
  private readonly functions = new Map<string, KnownCall[]>()
  private readonly errors = new Map<string, KnownCall[]>()
  private readonly events = new Map<string, KnownEvent[]>()
  private readonly labels: ReadonlyMap<string, string>
  /** Whether text of contracts is shown whole. */
  readonly whole: boolean

  /** `labels` by address in lower case; `signatures` as Solidity writes them: `function f(uint256 a)`, or `f(uint256)`. */
  constructor({
    labels = new Map(),
    signatures = [],
    whole = false,
  }: { readonly labels?: ReadonlyMap<string, string>; readonly signatures?: readonly string[]; readonly whole?: boolean } = {}) {
    this.labels = labels
    this.whole = whole
    // Those that were given come first: they are about these contracts.
    for (const signature of [...signatures, ...BUILT_IN]) this.add(signature)
  }

  private add(text: string): void {
    const signature = /^(function|error|event) /.test(text) ? text : `function ${text}`
    const into = <T>(map: Map<string, T[]>, key: string, known: T): void => {
      map.set(key, [...(map.get(key) ?? []), known])
    }
    const show: Show = (value) => this.value(value)
    try {
      if (signature.startsWith('event ')) {
        const item = AbiEvent.from(signature as never) as AbiEvent.AbiEvent
        const decode = (topics: readonly string[], data: string): string => {
          const args = AbiEvent.decode(item, { topics: topics as never, data: data as never }) as unknown
          return named(item.inputs, listOf(args, item.inputs), show)
        }
        into(this.events, AbiEvent.getSelector(item), { name: printable(item.name), decode })
        return
      }
      const isError = signature.startsWith('error ')
      const item = (isError ? AbiError.from(signature as never) : AbiFunction.from(signature as never)) as AbiFunction.AbiFunction
      const decode = (data: string): string => named(item.inputs, item.inputs.length === 0 ? [] : argumentsOf(item.inputs, data), show)
      const selector = isError ? AbiError.getSelector(item as never) : AbiFunction.getSelector(item)
      into(isError ? this.errors : this.functions, selector, { name: printable(item.name), decode })
    } catch (e) {
      throw new BadSignature(`${JSON.stringify(text)} is no signature such as "function transfer(address to, uint256 amount)"`, {
        cause: e,
      })
    }
  }

  /** An address by its label, or short. */
  address(address: string): string {
    const label = this.labels.get(address.toLowerCase())
    const short = `${address.slice(0, 6)}..${address.slice(-4)}`
    return label === undefined ? short : `${printable(label)}(${short})`
  }

  private value(value: unknown): string {
    if (typeof value === 'bigint' || typeof value === 'number' || typeof value === 'boolean') return String(value)
    if (Array.isArray(value)) return `[${value.map((entry) => this.value(entry)).join(', ')}]`
    if (typeof value === 'object' && value !== null) {
      return `(${Object.entries(value)
        .map(([name, entry]) => `${printable(name)}: ${this.value(entry)}`)
        .join(', ')})`
    }
    const text = String(value)
    if (/^0x[0-9a-fA-F]{40}$/.test(text)) return this.address(text)
    return /^0x[0-9a-fA-F]*$/.test(text) ? this.bytes(text) : JSON.stringify(printable(text, this.whole))
  }

  /** Bytes, cut in the middle where they are long. */
  bytes(hex: string): string {
    /** Bytes that are shown whole. */
    const short = 32
    const bytes = (hex.length - 2) / 2
    return this.whole || bytes <= short ? hex : `${hex.slice(0, 2 + short)}..(${bytes} bytes)`
  }

  /** A call by the name of its function, or by its selector. */
  call(input: string): string {
    if (input.length < SELECTOR_CHARACTERS) return input === '0x' ? '(no data)' : `(${this.bytes(input)})`
    const selector = input.slice(0, SELECTOR_CHARACTERS)
    const known = this.read(this.functions.get(selector), input)
    return known ?? `${selector}(${input.length === SELECTOR_CHARACTERS ? '' : this.bytes(`0x${input.slice(SELECTOR_CHARACTERS)}`)})`
  }

  /** An event by its name; by its first topic where it has none. */
  event(topics: readonly string[], data: string): string {
    for (const { name, decode } of this.events.get(topics[0] ?? '') ?? []) {
      try {
        return `${name}(${decode(topics, data)})`
      } catch {
        // Another event of the same name indexes other parameters.
      }
    }
    const shown = topics.map((topic) => this.bytes(topic))
    return `${shown.join(', ') || 'anonymous'}${data === '0x' ? '' : ` ${this.bytes(data)}`}`
  }

  /** What a frame that failed gave back, in words; undefined where it gave nothing. */
  reason(output: string): string | undefined {
    if (output.length <= 2) return undefined
    const selector = output.slice(0, SELECTOR_CHARACTERS)
    try {
      if (selector === AbiError.solidityErrorSelector) return printable(String(argumentsOf([{ type: 'string' }], output)[0]), this.whole)
      if (selector === AbiError.solidityPanicSelector) {
        const code = argumentsOf([{ type: 'uint256' }], output)[0] as bigint
        return `panic 0x${code.toString(16).padStart(2, '0')}: ${PANICS.get(code) ?? 'a code without a meaning'}`
      }
    } catch {
      // Bytes that begin as one of the two and are not.
    }
    const known = this.read(this.errors.get(selector), output)
    if (known !== undefined) return known
    return output.length < SELECTOR_CHARACTERS ? this.bytes(output) : `custom error ${this.bytes(output)}`
  }

  private read(known: readonly KnownCall[] | undefined, data: string): string | undefined {
    for (const { name, decode } of known ?? []) {
      try {
        return `${name}(${decode(data)})`
      } catch {
        // Another signature has the same selector, or the data is not of this one.
      }
    }
    return undefined
  }
}
