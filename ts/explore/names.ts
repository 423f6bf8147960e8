// Names of functions, errors and events by selector, and of addresses by labels. Arguments are
// decoded by `ox`.
import { AbiError, AbiEvent, AbiFunction, AbiParameters } from 'ox'
import { consoleSignature } from './console-names.ts'
import { panicText } from './panics.ts'
import { printable } from './printable.ts'

/**
 * Signatures that every explorer knows: tokens (ERC-20, 721, 1155, 4626), accounts (ERC-4337),
 * wrapped ether, Permit2, Multicall3, routers, Safe, errors of OpenZeppelin's contracts.
 */
const BUILT_IN: readonly string[] = [
  'function name() returns (string)',
  'function symbol() returns (string)',
  'function decimals() returns (uint8)',
  'function totalSupply() returns (uint256)',
  'function balanceOf(address account) returns (uint256)',
  'function allowance(address owner, address spender) returns (uint256)',
  'function transfer(address to, uint256 amount) returns (bool)',
  'function transferFrom(address from, address to, uint256 amount) returns (bool)',
  'function approve(address spender, uint256 amount) returns (bool)',
  'function permit(address owner, address spender, uint256 value, uint256 deadline, uint8 v, bytes32 r, bytes32 s)',
  'function ownerOf(uint256 tokenId) returns (address)',
  'function safeTransferFrom(address from, address to, uint256 tokenId)',
  'function safeTransferFrom(address from, address to, uint256 tokenId, bytes data)',
  'function safeTransferFrom(address from, address to, uint256 id, uint256 amount, bytes data)',
  'function setApprovalForAll(address operator, bool approved)',
  'function onERC721Received(address operator, address from, uint256 tokenId, bytes data)',
  'function supportsInterface(bytes4 interfaceId) returns (bool)',
  'function deposit()',
  'function withdraw(uint256 amount)',
  'function asset() returns (address)',
  'function convertToAssets(uint256 shares) returns (uint256 assets)',
  'function convertToShares(uint256 assets) returns (uint256 shares)',
  'function deposit(uint256 assets, address receiver)',
  'function redeem(uint256 shares, address receiver, address owner)',
  'function mint(uint256 shares, address receiver)',
  'function withdraw(uint256 assets, address receiver, address owner)',
  'function balanceOf(address account, uint256 id) returns (uint256)',
  'function safeBatchTransferFrom(address from, address to, uint256[] ids, uint256[] amounts, bytes data)',
  'function isApprovedForAll(address account, address operator) returns (bool)',
  'function permitTransferFrom(((address token, uint256 amount) permitted, uint256 nonce, uint256 deadline) permit, (address to, uint256 requestedAmount) transferDetails, address owner, bytes signature)',
  'function transferFrom(address from, address to, uint160 amount, address token)',
  'function handleOps((address sender, uint256 nonce, bytes initCode, bytes callData, bytes32 accountGasLimits, uint256 preVerificationGas, bytes32 gasFees, bytes paymasterAndData, bytes signature)[] ops, address beneficiary)',
  'function isValidSignature(bytes32 hash, bytes signature) returns (bytes4)',
  'function multicall(bytes[] data)',
  'function aggregate3((address target, bool allowFailure, bytes callData)[] calls)',
  'function execTransaction(address to, uint256 value, bytes data, uint8 operation, uint256 safeTxGas, uint256 baseGas, uint256 gasPrice, address gasToken, address refundReceiver, bytes signatures)',
  'function getReserves() returns (uint112 reserve0, uint112 reserve1, uint32 blockTimestampLast)',
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
  'event Transfer(address indexed from, address indexed to, uint256 indexed tokenId)',
  'event Approval(address indexed owner, address indexed approved, uint256 indexed tokenId)',
  'event ApprovalForAll(address indexed owner, address indexed operator, bool approved)',
  'event TransferSingle(address indexed operator, address indexed from, address indexed to, uint256 id, uint256 value)',
  'event TransferBatch(address indexed operator, address indexed from, address indexed to, uint256[] ids, uint256[] values)',
  'event Deposit(address indexed sender, address indexed owner, uint256 assets, uint256 shares)',
  'event Withdraw(address indexed sender, address indexed receiver, address indexed owner, uint256 assets, uint256 shares)',
  'event UserOperationEvent(bytes32 indexed userOpHash, address indexed sender, address indexed paymaster, uint256 nonce, bool success, uint256 actualGasCost, uint256 actualGasUsed)',
  'event ExecutionSuccess(bytes32 txHash, uint256 payment)',
  'event ExecutionFailure(bytes32 txHash, uint256 payment)',
  'error ERC20InsufficientBalance(address sender, uint256 balance, uint256 needed)',
  'error ERC20InsufficientAllowance(address spender, uint256 allowance, uint256 needed)',
  'error ERC721NonexistentToken(uint256 tokenId)',
  'error OwnableUnauthorizedAccount(address account)',
  'error SafeERC20FailedOperation(address token)',
  'event Deposit(address indexed dst, uint256 wad)',
  'event Withdrawal(address indexed src, uint256 wad)',
  'event Sync(uint112 reserve0, uint112 reserve1)',
  'event Swap(address indexed sender, uint256 amount0In, uint256 amount1In, uint256 amount0Out, uint256 amount1Out, address indexed to)',
  'event Swap(address indexed sender, address indexed recipient, int256 amount0, int256 amount1, uint160 sqrtPriceX96, uint128 liquidity, int24 tick)',
]

/** Signatures of one source that are taken. */
export const SIGNATURES_MAX = 100_000

/** Hex digits of a selector with its prefix. */
const SELECTOR_CHARACTERS = 10

interface Parameter {
  readonly name?: string | undefined
  readonly type: string
}

/** A value with its parameter. */
export interface Argument {
  /** Undefined where the signature gives none. */
  readonly name: string | undefined
  readonly type: string
  /** As `ox` gives it: a bigint, number, boolean, text, array or object. */
  readonly value: unknown
}

/** A call, error or event whose signature is known. */
export interface Decoded {
  readonly name: string
  readonly args: readonly Argument[]
}

/**
 * What a signature is of, and how its arguments are read: of a call from its data, of an event from
 * its topics as well.
 */
interface Known<T extends readonly unknown[] = readonly unknown[]> {
  readonly name: string
  readonly decode: (...from: T) => Argument[]
}

interface KnownCall extends Known<[data: string]> {
  /** Name and types: `transfer(address,uint256)`. */
  readonly signature: string
  /** Reads what the function returns; undefined where the signature does not say. */
  readonly result?: ((data: string) => Argument[]) | undefined
}
type KnownEvent = Known<[topics: readonly string[], data: string]>

/**
 * Names of parameters that `ox` refuses, though compilers take some of them (`bytes error`). They
 * are marked with `$` before `ox` reads them; the same word may be a type (`function`).
 */
const REFUSED_NAMES =
  'after|alias|anonymous|apply|auto|byte|case|catch|constant|copyof|default|defined|error|event|external|false|final|function|immutable|' +
  'implements|in|inline|internal|let|mapping|match|mutable|null|of|override|partial|private|promise|public|pure|reference|relocatable|' +
  'return|returns|sizeof|static|struct|super|supports|switch|this|true|try|typedef|typeof|var|view|virtual'
const REFUSED_NAME = new RegExp(`([^,(\\s]\\s+(?:${REFUSED_NAMES}))(?=\\s*[,)])`, 'g')
const MARKED_NAME = new RegExp(`^(${REFUSED_NAMES})\\$$`)

/** Parameters with the names that they were given, those in tuples too. */
function unmarked<T extends Parameter>(parameters: readonly T[]): T[] {
  return parameters.map((parameter) => {
    const { name, components } = parameter as Parameter & { readonly components?: readonly Parameter[] }
    return {
      ...parameter,
      ...(name === undefined ? {} : { name: name.replace(MARKED_NAME, '$1') }),
      ...(components === undefined ? {} : { components: unmarked(components) }),
    }
  })
}

/** Values with their parameters. */
const named = (inputs: readonly Parameter[], values: readonly unknown[]): Argument[] =>
  inputs.map(({ name, type }, i) => ({ name: name ? printable(name) : undefined, type: printable(type), value: values[i] }))

/** The arguments of an event in the order of its parameters. */
function argumentsOfEvent(item: AbiEvent.AbiEvent, topics: readonly string[], data: string): unknown[] {
  // `ox` puts indexed arguments first where a parameter has no name: each gets one by its place.
  const inputs = item.inputs.map((input, i) => ({ ...input, name: `_${i}` }))
  const decoded = AbiEvent.decode({ ...item, inputs } as AbiEvent.AbiEvent, { topics: topics as never, data: data as never }) as unknown
  return inputs.map(({ name }) => (decoded as Record<string, unknown> | undefined)?.[name])
}

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

  /**
   * `labels` by address in lower case; `signatures` as Solidity writes them: `function f(uint256
   * a)`, or `f(uint256)`.
   * Of `artifacts`, signatures that do not read are passed over.
   */
  constructor({
    labels = new Map(),
    signatures = [],
    artifacts = [],
    whole = false,
  }: {
    readonly labels?: ReadonlyMap<string, string>
    readonly signatures?: readonly string[]
    readonly artifacts?: readonly string[]
    readonly whole?: boolean
  } = {}) {
    this.labels = labels
    this.whole = whole
    for (const signature of artifacts) {
      try {
        this.add(signature)
      } catch (e) {
        if (!(e instanceof BadSignature)) throw e
      }
    }
    // Those that were given come first: they are about these contracts.
    for (const signature of [...signatures, ...BUILT_IN]) this.add(signature)
  }

  /** `under`: the selector of a function, where that is not the one of its signature. */
  private add(text: string, under?: string): void {
    const written = /^(function|error|event) /.test(text) ? text : `function ${text}`
    const signature = written.replaceAll(REFUSED_NAME, '$1$$')
    const into = <T>(map: Map<string, T[]>, key: string, known: T): void => {
      map.set(key, [...(map.get(key) ?? []), known])
    }
    try {
      if (signature.startsWith('event ')) {
        const read = AbiEvent.from(signature as never) as AbiEvent.AbiEvent
        const item: AbiEvent.AbiEvent = { ...read, inputs: unmarked(read.inputs) }
        const decode = (topics: readonly string[], data: string): Argument[] => named(item.inputs, argumentsOfEvent(item, topics, data))
        into(this.events, AbiEvent.getSelector(item), { name: printable(item.name), decode })
        return
      }
      const isError = signature.startsWith('error ')
      const read = (isError ? AbiError.from(signature as never) : AbiFunction.from(signature as never)) as AbiFunction.AbiFunction
      const item: AbiFunction.AbiFunction = { ...read, inputs: unmarked(read.inputs), outputs: unmarked(read.outputs ?? []) }
      const decode = (data: string): Argument[] => named(item.inputs, item.inputs.length === 0 ? [] : argumentsOf(item.inputs, data))
      const { outputs } = item
      const result = (data: string): Argument[] => named(outputs, AbiParameters.decode(outputs, data as never) as readonly unknown[])
      const selector = under ?? (isError ? AbiError.getSelector(item as never) : AbiFunction.getSelector(item))
      const shown = `${printable(item.name)}(${item.inputs.map(({ type }) => printable(type)).join(',')})`
      const known = { name: printable(item.name), signature: shown, decode, result: outputs.length === 0 ? undefined : result }
      into(isError ? this.errors : this.functions, selector, known)
    } catch (e) {
      throw new BadSignature(`${JSON.stringify(text)} is no signature such as "function transfer(address to, uint256 amount)"`, {
        cause: e,
      })
    }
  }

  /** An address by its label, or short. */
  address(address: string): string {
    const label = this.label(address)
    const short = `${address.slice(0, 6)}..${address.slice(-4)}`
    return label === undefined ? short : `${label}(${short})`
  }

  /** The label of an address; undefined where it has none. */
  label(address: string): string | undefined {
    const label = this.labels.get(address.toLowerCase())
    return label === undefined ? undefined : printable(label)
  }

  /** A value as text: numbers in decimal, addresses by their labels. */
  value(value: unknown): string {
    if (typeof value === 'bigint' || typeof value === 'number' || typeof value === 'boolean') return String(value)
    if (Array.isArray(value)) return `[${value.map((entry) => this.value(entry)).join(', ')}]`
    if (typeof value === 'object' && value !== null) {
      return `(${Object.entries(value)
        .map(([name, entry]) => `${printable(name)}: ${this.value(entry)}`)
        .join(', ')})`
    }
    const text = String(value)
    if (/^0x[0-9a-fA-F]{40}$/.test(text)) return this.address(text)
    return /^0x[0-9a-fA-F]*$/.test(text) ? this.bytes(text) : `"${printable(text.replaceAll(/[\\"]/g, '\\$&'), this.whole)}"`
  }

  /** Bytes, cut in the middle where they are long. */
  bytes(hex: string): string {
    /** Bytes that are shown whole. */
    const short = 32
    const bytes = (hex.length - 2) / 2
    return this.whole || bytes <= short ? hex : `${hex.slice(0, 2 + short)}..(${bytes} bytes)`
  }

  private text({ name, args }: Decoded): string {
    const parts = args.map((arg) => `${arg.name === undefined ? '' : `${arg.name}: `}${this.value(arg.value)}`)
    return `${name}(${parts.join(', ')})`
  }

  /** The function and the arguments of a call; undefined where no signature fits. */
  decodeCall(input: string): Decoded | undefined {
    const selector = input.slice(0, SELECTOR_CHARACTERS)
    if (!this.functions.has(selector) && input.length >= SELECTOR_CHARACTERS) {
      const signature = consoleSignature(selector)
      if (signature !== undefined) this.add(signature, selector)
    }
    return this.read(this.functions.get(selector), input)
  }

  /** Names of the functions with a selector. */
  functionsOf(selector: string): string[] {
    return [...new Set((this.functions.get(selector) ?? []).map(({ signature }) => signature))]
  }

  /** What a call returns, by its signature; undefined where that does not say. */
  decodeResult(input: string, output: string): readonly Argument[] | undefined {
    for (const { decode, result } of this.functions.get(input.slice(0, SELECTOR_CHARACTERS)) ?? []) {
      try {
        decode(input)
        if (result !== undefined) return result(output)
      } catch {
        // Another function has the same selector, or the contract gives something else back.
      }
    }
    return undefined
  }

  /** A call by the name of its function, or by its selector. */
  call(input: string): string {
    if (input.length < SELECTOR_CHARACTERS) return input === '0x' ? '(no data)' : `(${this.bytes(input)})`
    const selector = input.slice(0, SELECTOR_CHARACTERS)
    const known = this.decodeCall(input)
    if (known !== undefined) return this.text(known)
    return `${selector}(${input.length === SELECTOR_CHARACTERS ? '' : this.bytes(`0x${input.slice(SELECTOR_CHARACTERS)}`)})`
  }

  /** The name and the arguments of an event; undefined where no signature fits. */
  decodeEvent(topics: readonly string[], data: string): Decoded | undefined {
    for (const { name, decode } of this.events.get(topics[0] ?? '') ?? []) {
      try {
        return { name, args: decode(topics, data) }
      } catch {
        // Another event of the same name indexes other parameters.
      }
    }
    return undefined
  }

  /** An event by its name; by its first topic where it has none. */
  event(topics: readonly string[], data: string): string {
    const known = this.decodeEvent(topics, data)
    if (known !== undefined) return this.text(known)
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
        return panicText(code)
      }
    } catch {
      // Bytes that begin as one of the two and are not.
    }
    const known = this.read(this.errors.get(selector), output)
    if (known !== undefined) return this.text(known)
    return output.length < SELECTOR_CHARACTERS ? this.bytes(output) : `custom error ${this.bytes(output)}`
  }

  private read(known: readonly KnownCall[] | undefined, data: string): Decoded | undefined {
    for (const { name, decode } of known ?? []) {
      try {
        return { name, args: decode(data) }
      } catch {
        // Another signature has the same selector, or the data is not of this one.
      }
    }
    return undefined
  }
}
