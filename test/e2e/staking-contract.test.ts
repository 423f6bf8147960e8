// The staking contract: its bytecode is that of its source, and what validators, delegators and the
// node do with it.
import { createRequire } from 'node:module'
import path from 'node:path'
import {
  decodeErrorResult,
  decodeFunctionResult,
  encodeFunctionData,
  encodePacked,
  type Hex,
  numberToHex,
  parseEther,
  parseGwei,
} from 'viem'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { clients } from './clients/install.ts'
import { type RunningNode, rpc, startNode } from './harness.ts'
import {
  consensusAddress,
  genesisStorage,
  markChanged,
  queueUnbondings,
  STAKING,
  SYSTEM,
  stakingAbi,
  stakingCode,
  stakingFile,
} from './staking.ts'

const compiler = await clients('solc')
const abi = stakingAbi()
const example = JSON.parse(stakingFile('genesis-example.json')) as {
  input: { validators: { operator: Hex; key: Hex; power: number; moniker: string }[]; unbondingSeconds: number }
  balance: Hex
  storage: Record<Hex, Hex>
}
const [FIRST, SECOND, THIRD] = example.input.validators.map((v) => v.operator) as [Hex, Hex, Hex]
const ALICE: Hex = '0xaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'
const BOB: Hex = '0xbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb'
const key = (n: number): Hex => numberToHex(n, { size: 32 })
const DESCRIPTION = [
  'moniker',
  'identity',
  'https://example.org',
  'security@example.org',
  'a text longer than one word of storage has room for',
]
const UNBONDING = BigInt(example.input.unbondingSeconds)
const account = (n: number): Hex => numberToHex(0xc0ffee00 + n, { size: 20 })

describe('the committed bytecode', () => {
  it.skipIf('missing' in compiler)(`is that of the source${'missing' in compiler ? ` (skipped: ${compiler.missing})` : ''}`, () => {
    const { dir } = compiler as { dir: string }
    const solc = createRequire(path.join(dir, 'package.json'))('solc') as { compile: (input: string) => string; version: () => string }
    expect(solc.version()).toMatch(/^0\.8\.30\+/)
    const input = {
      language: 'Solidity',
      sources: { 'Staking.sol': { content: stakingFile('Staking.sol') } },
      settings: {
        evmVersion: 'prague',
        optimizer: { enabled: true, runs: 200 },
        metadata: { appendCBOR: false, bytecodeHash: 'none' },
        outputSelection: { '*': { '*': ['abi', 'evm.deployedBytecode.object'] } },
      },
    }
    const { errors, contracts } = JSON.parse(solc.compile(JSON.stringify(input)))
    expect(errors ?? []).toEqual([])
    const { abi: compiled, evm } = contracts['Staking.sol'].Staking
    expect(`0x${evm.deployedBytecode.object}`).toBe(stakingCode())
    expect(compiled).toEqual(abi)
  })

  it('starts from the storage that genesis-example.json says', () => {
    const { balance, storage } = genesisStorage(example.input.validators, example.input.unbondingSeconds)
    expect({ balance, storage }).toEqual({ balance: example.balance, storage: example.storage })
  })
})

let node: RunningNode

async function call<T>(method: string, ...params: unknown[]): Promise<T> {
  const { result, error } = await rpc(node.url, method, params)
  if (error !== undefined) throw Object.assign(new Error(`${method}: ${error.message}`), { data: error.data })
  return result as T
}

/** The name of the contract's error in a failed call, with its values. */
function reason(e: unknown): string {
  const data = (e as { data?: unknown }).data
  const hex = (typeof data === 'string' ? data : (data as { data?: string } | undefined)?.data) as Hex | undefined
  if (hex === undefined) throw e
  const { errorName, args } = decodeErrorResult({ abi, data: hex })
  return `${errorName}(${(args ?? []).map(String).join(', ').toLowerCase()})`
}

interface Call {
  readonly from: Hex
  readonly value?: bigint
}

const request = (name: string, args: readonly unknown[], { from, value = 0n }: Call) => ({
  from,
  to: STAKING,
  value: numberToHex(value),
  data: encodeFunctionData({ abi, functionName: name, args }),
})

/** What a call would answer at the head. */
async function view(name: string, args: readonly unknown[] = [], from: Hex = BOB, value = 0n) {
  const data = await call<Hex>('eth_call', request(name, args, { from, value }), 'latest')
  // biome-ignore lint/suspicious/noExplicitAny: the shape is that of the function named
  return decodeFunctionResult({ abi, functionName: name, data }) as any
}

/** Sends a transaction, which must succeed; what the function answered. */
async function send(name: string, args: readonly unknown[], by: Call) {
  const answer = await view(name, args, by.from, by.value)
  await call('anvil_impersonateAccount', by.from)
  const hash = await call<Hex>('eth_sendTransaction', { ...request(name, args, by), gas: numberToHex(10_000_000) })
  const receipt = await call<{ status: Hex; gasUsed: Hex }>('eth_getTransactionReceipt', hash)
  expect([name, receipt.status]).toEqual([name, '0x1'])
  return answer
}

/** The error that a call ends with. */
const refused = async (name: string, args: readonly unknown[], by: Call): Promise<string> =>
  view(name, args, by.from, by.value).then(
    () => 'none',
    (e) => reason(e),
  )

/** Validator updates at the end of a block, as [key, power]. */
async function end(): Promise<[Hex, bigint][]> {
  const updates = ((await send('end', [], { from: SYSTEM })) as Hex).slice(2)
  const list: [Hex, bigint][] = []
  for (let at = 0; at < updates.length; at += 82) {
    expect(updates.slice(at, at + 2)).toBe('00')
    list.push([`0x${updates.slice(at + 2, at + 66)}`, BigInt(`0x${updates.slice(at + 66, at + 82)}`)])
  }
  return list
}

/** Withdrawals at the start of a block, as [account, gwei]. */
async function begin(time: bigint, misbehavior: Hex = '0x'): Promise<[Hex, bigint][]> {
  const paid = ((await send('begin', [time, FIRST, misbehavior], { from: SYSTEM })) as Hex).slice(2)
  const list: [Hex, bigint][] = []
  for (let at = 0; at < paid.length; at += 56) list.push([`0x${paid.slice(at, at + 40)}`, BigInt(`0x${paid.slice(at + 40, at + 56)}`)])
  return list
}

const misbehavior = (operator: Hex, height: bigint): Hex =>
  encodePacked(
    ['uint8', 'address', 'uint64'],
    [1, consensusAddress(example.input.validators.find((v) => v.operator === operator)?.key as Hex), height],
  )

const now = async (): Promise<bigint> => BigInt((await call<{ timestamp: Hex }>('eth_getBlockByNumber', 'latest', false)).timestamp)
const height = async (): Promise<bigint> => BigInt(await call<Hex>('eth_blockNumber'))
const keyOf = (operator: Hex): Hex => example.input.validators.find((v) => v.operator === operator)?.key as Hex
const lower = (address: string): string => address.toLowerCase()

beforeAll(async () => {
  // A crowded contract is given as overrides.
  node = await startNode(['dev', '--evm.max_state_override_slots=100000'])
})
afterAll(async () => {
  expect(await node.stop()).toBe(0)
})
beforeEach(async () => {
  await call('anvil_reset')
  await call('anvil_setCode', STAKING, stakingCode())
  await call('anvil_setBalance', STAKING, example.balance)
  for (const [slot, value] of Object.entries(example.storage)) await call('anvil_setStorageAt', STAKING, slot, value)
  for (const who of [SYSTEM, FIRST, SECOND, THIRD, ALICE, BOB]) await call('anvil_setBalance', who, numberToHex(parseEther('1000000')))
})

describe('a genesis', () => {
  it('shows its validators, delegations and pool', async () => {
    const [list, total] = await view('validators', [0n, 500n])
    expect(total).toBe(3n)
    expect(list.map((v: { description: string[]; tokens: bigint; status: number }) => [v.description[0], v.tokens, v.status])).toEqual([
      ['node0', parseEther('10'), 3],
      ['node1', parseEther('10'), 3],
      ['the third of the validators', parseEther('7'), 3],
    ])
    const one = await view('validator', [THIRD])
    expect([lower(one.operator), one.key, one.shares, one.power, one.jailed, one.minSelfDelegation]).toEqual([
      THIRD,
      keyOf(THIRD),
      parseEther('7'),
      7n,
      false,
      1n,
    ])
    expect(lower(one.consensus)).toBe(consensusAddress(keyOf(THIRD)))
    expect(lower(await view('operatorOf', [one.consensus]))).toBe(THIRD)
    expect(await view('pool')).toEqual([parseEther('27'), 0n])
    expect([await view('unbondingTime'), await view('maxValidators'), await view('validatorCount')]).toEqual([UNBONDING, 100n, 3n])
    const [delegations, count] = await view('delegationsOf', [FIRST, 0n, 10n])
    expect([count, lower(delegations[0].operator), delegations[0].tokens]).toEqual([1n, FIRST, parseEther('10')])
    expect(await end()).toEqual([])
  })

  it('pages lists', async () => {
    const [page, total] = await view('validators', [1n, 1n])
    expect([page.length, lower(page[0].operator), total]).toEqual([1, SECOND, 3n])
    expect((await view('validators', [3n, 5n]))[0]).toEqual([])
    expect((await view('validators', [2n ** 256n - 1n, 2n ** 256n - 1n]))[0]).toEqual([])
  })
})

describe('calls of the node', () => {
  it('are refused from everyone else', async () => {
    expect(await refused('end', [], { from: ALICE })).toBe('OnlySystem()')
    expect(await refused('begin', [1n, FIRST, '0x'], { from: FIRST })).toBe('OnlySystem()')
    expect(await refused('begin', [1n, FIRST, '0x01'], { from: SYSTEM })).toBe('BadMisbehavior(1)')
  })
})

describe('delegations', () => {
  it('change the power at the end of the block', async () => {
    await send('delegate', [THIRD], { from: ALICE, value: parseEther('5.5') })
    expect(await end()).toEqual([[keyOf(THIRD), 12n]])
    expect(await end()).toEqual([])
    expect((await view('delegation', [ALICE, THIRD])).tokens).toBe(parseEther('5.5'))
    expect(await view('pool')).toEqual([parseEther('32.5'), 0n])
    const [list, total] = await view('delegationsTo', [THIRD, 0n, 10n])
    expect([total, list.map((d: { delegator: string }) => lower(d.delegator))]).toEqual([2n, [THIRD, ALICE]])
    // Half a unit more makes a whole one.
    await send('delegate', [THIRD], { from: BOB, value: parseEther('0.5') })
    expect(await end()).toEqual([[keyOf(THIRD), 13n]])
  })

  it('are refused for unknown validators and odd amounts', async () => {
    expect(await refused('delegate', [ALICE], { from: BOB, value: 1n })).toBe(`UnknownValidator(${ALICE})`)
    expect(await refused('delegate', [FIRST], { from: BOB, value: 5n })).toBe('NotGwei(5)')
    expect(await refused('delegate', [FIRST], { from: BOB })).toBe('ZeroAmount()')
    expect(await refused('undelegate', [FIRST, parseGwei('1')], { from: BOB })).toBe(`TooMuch(${parseGwei('1')}, 0)`)
  })

  it('come back as withdrawals once the unbonding time is over', async () => {
    await send('delegate', [FIRST], { from: ALICE, value: parseEther('3') })
    const completion = (await send('undelegate', [FIRST, parseEther('1')], { from: ALICE })) as bigint
    // The call before it looked at the block before.
    const [[entry], total] = await view('unbondingsOf', [ALICE, 0n, 10n])
    expect(completion - (await now())).toBeGreaterThan(UNBONDING - 10n)
    expect([total, entry.initial, entry.amount, entry.height]).toEqual([1n, parseEther('1'), parseEther('1'), await height()])
    expect(entry.completion).toBe((await now()) + UNBONDING)
    expect(await view('pool')).toEqual([parseEther('29'), parseEther('1')])
    expect(await end()).toEqual([[keyOf(FIRST), 12n]])
    expect(await begin(entry.completion - 1n)).toEqual([])
    expect(await begin(entry.completion)).toEqual([[ALICE, 1_000_000_000n]])
    expect(await begin(entry.completion)).toEqual([])
    expect((await view('unbondingsOf', [ALICE, 0n, 10n]))[1]).toBe(0n)
    expect((await view('delegation', [ALICE, FIRST])).tokens).toBe(parseEther('2'))
    expect(await view('pool')).toEqual([parseEther('29'), 0n])
  })

  it('are paid oldest first, at most 16 a block, none cancelled', async () => {
    const all = Array.from({ length: 20 }, (_, i) => account(i))
    for (const who of all) {
      await call('anvil_setBalance', who, numberToHex(parseEther('10')))
      await send('delegate', [FIRST], { from: who, value: parseEther('1') })
      await send('undelegate', [FIRST, parseEther('1')], { from: who })
    }
    const [[entry]] = await view('unbondingsOf', [all[1], 0n, 1n])
    await send('cancelUnbonding', [FIRST, parseEther('1'), entry.height], { from: all[1] as Hex })
    const left = all.filter((_, i) => i !== 1)
    const later = (await now()) + UNBONDING + 100n
    expect((await view('unbondingsFrom', [FIRST, 0n, 100n]))[1]).toBe(19n)
    expect((await begin(later)).map(([who]) => who)).toEqual(left.slice(0, 16))
    expect((await begin(later)).map(([who]) => who)).toEqual(left.slice(16))
    expect(await begin(later)).toEqual([])
    expect((await view('delegation', [all[1], FIRST])).tokens).toBe(parseEther('1'))
  })

  it('can be cancelled in parts, and at most seven wait at a time', async () => {
    await send('delegate', [FIRST], { from: ALICE, value: parseEther('9') })
    for (let i = 0; i < 7; i++) await send('undelegate', [FIRST, parseEther('1')], { from: ALICE })
    expect(await refused('undelegate', [FIRST, parseEther('1')], { from: ALICE })).toBe('TooManyEntries(7)')
    const [entries] = await view('unbondingsOf', [ALICE, 0n, 10n])
    const third = entries[2]
    expect(await refused('cancelUnbonding', [FIRST, parseEther('2'), third.height], { from: ALICE })).toBe(
      `TooMuch(${parseEther('2')}, ${parseEther('1')})`,
    )
    await send('cancelUnbonding', [FIRST, parseEther('0.25'), third.height], { from: ALICE })
    expect((await view('unbondingsOf', [ALICE, 2n, 1n]))[0][0].amount).toBe(parseEther('0.75'))
    await send('cancelUnbonding', [FIRST, parseEther('0.75'), third.height], { from: ALICE })
    expect(await refused('cancelUnbonding', [FIRST, parseEther('1'), third.height], { from: ALICE })).toBe(
      `UnknownUnbonding(${ALICE}, ${FIRST}, ${third.height})`,
    )
    expect((await view('unbondingsOf', [ALICE, 0n, 10n]))[0].map((u: { height: bigint }) => u.height).sort()).toEqual(
      entries.filter((u: { id: bigint }) => u.id !== third.id).map((u: { height: bigint }) => u.height),
    )
    expect((await view('delegation', [ALICE, FIRST])).tokens).toBe(parseEther('3'))
    await send('undelegate', [FIRST, parseEther('3')], { from: ALICE })
    expect((await view('delegationsOf', [ALICE, 0n, 10n]))[1]).toBe(0n)
  })
})

describe('validators', () => {
  it('are created with a stake of one unit, and listed', async () => {
    const by = { from: ALICE, value: parseEther('2') }
    expect(await refused('createValidator', [key(1), DESCRIPTION, 0n], { from: ALICE, value: 10n ** 18n - 1n })).toBe(
      `SelfDelegationTooLow(${10n ** 18n - 1n}, ${10n ** 18n})`,
    )
    expect(await refused('createValidator', [keyOf(FIRST), DESCRIPTION, 0n], by)).toBe(`KeyInUse(${keyOf(FIRST)})`)
    expect(await refused('createValidator', [key(0), DESCRIPTION, 0n], by)).toBe('ZeroKey()')
    expect(await refused('createValidator', [key(1), DESCRIPTION, 10n ** 18n + 1n], by)).toBe(`RateTooHigh(${10n ** 18n + 1n})`)
    expect(await refused('createValidator', [key(1), ['m'.repeat(71), '', '', '', ''], 0n], by)).toBe('DescriptionTooLong(0, 71, 70)')
    await send('createValidator', [key(1), DESCRIPTION, 5n * 10n ** 16n], by)
    expect(await refused('createValidator', [key(2), DESCRIPTION, 0n], by)).toBe(`ValidatorExists(${ALICE})`)
    expect((await view('validator', [ALICE])).status).toBe(1)
    expect(await end()).toEqual([[key(1), 2n]])
    const v = await view('validator', [ALICE])
    expect([v.description, v.rate, v.status, v.updateTime > 0n, v.power]).toEqual([DESCRIPTION, 5n * 10n ** 16n, 3, true, 2n])
    expect((await view('validators', [3n, 1n]))[0].map((one: { operator: string }) => lower(one.operator))).toEqual([ALICE])
  })

  it('are edited, the rate once a day', async () => {
    const kept = '[do-not-modify]'
    const same = 2n ** 256n - 1n
    await send('editValidator', [['new', kept, kept, kept, 'd'], 10n ** 17n], { from: SECOND })
    const v = await view('validator', [SECOND])
    expect([v.description, v.rate]).toEqual([['new', '', '', '', 'd'], 10n ** 17n])
    expect(await refused('editValidator', [[kept, kept, kept, kept, kept], 0n], { from: SECOND })).toMatch(/^RateChangedToday\(\d+\)$/)
    await send('editValidator', [['newer', kept, kept, kept, kept], same], { from: SECOND })
    expect((await view('validator', [SECOND])).description[0]).toBe('newer')
    expect(await refused('editValidator', [DESCRIPTION, same], { from: ALICE })).toBe(`UnknownValidator(${ALICE})`)
  })

  it('leave when their own stake goes, and come back with unjail', async () => {
    expect(await refused('unjail', [], { from: THIRD })).toBe(`NotJailed(${THIRD})`)
    await send('delegate', [THIRD], { from: ALICE, value: parseEther('4') })
    await end()
    await send('undelegate', [THIRD, parseEther('7')], { from: THIRD })
    expect(await end()).toEqual([[keyOf(THIRD), 0n]])
    const left = await view('validator', [THIRD])
    expect([left.jailed, left.status, left.unbondingHeight, left.unbondingTime]).toEqual([
      true,
      2,
      await height(),
      (await now()) + UNBONDING,
    ])
    expect(await refused('unjail', [], { from: THIRD })).toBe(`NoSelfDelegation(${THIRD})`)
    await send('delegate', [THIRD], { from: THIRD, value: parseEther('1') })
    expect(await end()).toEqual([])
    await send('unjail', [], { from: THIRD })
    expect(await end()).toEqual([[keyOf(THIRD), 5n]])
    const back = await view('validator', [THIRD])
    expect([back.jailed, back.status, back.unbondingHeight]).toEqual([false, 3, 0n])
  })

  it('are never all gone', async () => {
    await send('undelegate', [FIRST, parseEther('10')], { from: FIRST })
    await send('undelegate', [SECOND, parseEther('9.5')], { from: SECOND })
    expect(await end()).toEqual([
      [keyOf(FIRST), 0n],
      [keyOf(SECOND), 0n],
    ])
    expect(await refused('undelegate', [THIRD, parseEther('7')], { from: THIRD })).toBe(`LastValidator(${THIRD})`)
    // Misbehavior of the last one: it continues until there is another.
    expect(await begin(await now(), misbehavior(THIRD, 1n))).toEqual([])
    expect(await end()).toEqual([])
    await send('delegate', [SECOND], { from: SECOND, value: parseEther('1') })
    expect((await end()).sort()).toEqual([
      [keyOf(SECOND), 1n],
      [keyOf(THIRD), 0n],
    ])
  })

  it('have at most the power that CometBFT can add up', async () => {
    await call('anvil_setBalance', ALICE, numberToHex(10n ** 40n))
    await send('delegate', [FIRST], { from: ALICE, value: 10n ** 37n })
    expect(await end()).toEqual([[keyOf(FIRST), 10n ** 16n]])
    // A withdrawal has 64 bits of gwei.
    expect(await refused('undelegate', [FIRST, 10n ** 30n], { from: ALICE })).toBe(
      `TooMuch(${10n ** 30n}, ${(2n ** 64n - 1n) * 10n ** 9n})`,
    )
  })
})

describe('misbehavior', () => {
  it('costs 5 % of stake and newer unbondings, and bars for good', async () => {
    await send('delegate', [SECOND], { from: ALICE, value: parseEther('10') })
    await send('undelegate', [SECOND, parseEther('1')], { from: ALICE })
    const before = await height()
    await send('undelegate', [SECOND, parseEther('2')], { from: ALICE })
    await end()
    // Committed one block after the first of the two unbondings began.
    await begin(await now(), misbehavior(SECOND, before + 1n))
    expect(await end()).toEqual([[keyOf(SECOND), 0n]])
    const v = await view('validator', [SECOND])
    expect([v.tokens, v.jailed, v.tombstoned]).toEqual([parseEther('16.15'), true, true])
    expect((await view('delegation', [SECOND, SECOND])).tokens).toBe(parseEther('9.5'))
    expect((await view('delegation', [ALICE, SECOND])).tokens).toBe(parseEther('6.65'))
    // The second report changes nothing.
    await begin(await now(), misbehavior(SECOND, 1n))
    expect((await view('validator', [SECOND])).tokens).toBe(parseEther('16.15'))
    expect(await refused('unjail', [], { from: SECOND })).toBe(`Tombstoned(${SECOND})`)
    expect(await refused('delegate', [SECOND], { from: BOB, value: parseEther('1') })).toBe(`Tombstoned(${SECOND})`)
    expect(await refused('cancelUnbonding', [SECOND, parseEther('1'), before], { from: ALICE })).toBe(`Tombstoned(${SECOND})`)
    // What leaves later was slashed in the validator's tokens, and is not slashed twice.
    await send('undelegate', [SECOND, parseEther('6.65')], { from: ALICE })
    const amounts = (await view('unbondingsOf', [ALICE, 0n, 10n]))[0].map((u: { amount: bigint }) => u.amount)
    expect(amounts).toEqual([parseEther('1'), parseEther('1.9'), parseEther('6.65')])
    expect(await begin((await now()) + UNBONDING + 100n)).toEqual([
      [ALICE, 1_000_000_000n],
      [ALICE, 1_900_000_000n],
      [ALICE, 6_650_000_000n],
    ])
  })

  it('of unknown addresses is passed over', async () => {
    const unknown = encodePacked(['uint8', 'address', 'uint64'], [1, ALICE, 5n])
    const both = `${unknown}${misbehavior(THIRD, 5n).slice(2)}` as Hex
    await begin(await now(), both)
    expect(await end()).toEqual([[keyOf(THIRD), 0n]])
  })
})

describe('the validators with the most stake', () => {
  it('are those that a plain sort gives, in any order of changes', async () => {
    // Room for four: the slot of the parameters has the number at byte 8.
    await call('anvil_setStorageAt', STAKING, key(0), numberToHex(UNBONDING | (4n << 64n), { size: 32 }))
    const keys = new Map<Hex, Hex>(example.input.validators.map((v) => [v.operator, v.key]))
    const powers = new Map<Hex, bigint>(example.input.validators.map((v) => [v.key, BigInt(v.power)]))
    const all: Hex[] = [FIRST, SECOND, THIRD]
    let seed = 12345
    const random = (n: number): number => {
      seed = (seed * 1103515245 + 12345) % 2 ** 31
      return Math.floor((seed / 2 ** 31) * n)
    }
    for (let step = 0; step < 60; step++) {
      const who = all[random(all.length)] as Hex
      const stake = (await view('delegation', [ALICE, who])).tokens as bigint
      const entries = (await view('unbondingsOf', [ALICE, 0n, 500n]))[0].filter((u: { operator: string }) => lower(u.operator) === who)
      if (all.length < 9 && random(3) === 0) {
        const operator = account(100 + all.length)
        await call('anvil_setBalance', operator, numberToHex(parseEther('100')))
        const value = parseEther(String(1 + random(12)))
        await send('createValidator', [key(1000 + all.length), DESCRIPTION, 0n], { from: operator, value })
        keys.set(operator, key(1000 + all.length))
        all.push(operator)
      } else if (stake > 0n && entries.length < 7 && random(2) === 0) {
        await send('undelegate', [who, stake / 2n - ((stake / 2n) % 10n ** 9n)], { from: ALICE })
      } else await send('delegate', [who], { from: ALICE, value: parseEther(String(1 + random(9))) })
      if (random(2) === 0) continue
      for (const [k, power] of await end()) {
        expect(powers.get(k) ?? 0n).not.toBe(power)
        if (power === 0n) powers.delete(k)
        else powers.set(k, power)
      }
      const [list] = (await view('validators', [0n, 100n])) as [{ operator: Hex; tokens: bigint; power: bigint }[]]
      const best = [...list].sort((a, b) =>
        a.tokens === b.tokens ? (lower(a.operator) < lower(b.operator) ? -1 : 1) : a.tokens < b.tokens ? 1 : -1,
      )
      const wanted = new Map(best.slice(0, 4).map((v) => [keys.get(lower(v.operator) as Hex) as Hex, v.tokens / 10n ** 18n]))
      expect(powers).toEqual(wanted)
      for (const v of list) expect(v.power).toBe(wanted.get(keys.get(lower(v.operator) as Hex) as Hex) ?? 0n)
    }
    expect(all.length).toBe(9)
  })
})

describe('calls of the node in a crowded contract', () => {
  /** Gas of a system call. */
  const SYSTEM_GAS = 30_000_000
  const [VALIDATORS, UNBONDINGS, CHANGES] = [100, 10_000, 1000]
  const crowd = (n: number) =>
    Array.from({ length: n }, (_, i) => ({ operator: account(5000 + i), key: key(5000 + i), power: 10 + i, moniker: `node${i}` }))

  /**
   * One call on the storage given: what it answered and its gas without that of a transaction and
   * its data.
   */
  async function simulated(storage: Record<Hex, Hex>, name: string, args: readonly unknown[], from: Hex = SYSTEM) {
    const { data } = request(name, args, { from })
    const overrides = { [STAKING]: { code: stakingCode(), state: storage }, [from]: { balance: numberToHex(parseEther('1')) } }
    const calls = [{ from, to: STAKING, data, gas: numberToHex(SYSTEM_GAS) }]
    await call('evm_mine')
    const [{ calls: answers }] = await call<[{ calls: [{ status: Hex; gasUsed: Hex; returnData: Hex }] }]>(
      'eth_simulateV1',
      { blockStateCalls: [{ blockOverrides: { gasLimit: numberToHex(2 * SYSTEM_GAS) }, stateOverrides: overrides, calls }] },
      'latest',
    )
    const [{ status, gasUsed, returnData }] = answers
    expect([name, status]).toEqual([name, '0x1'])
    const bytes = Buffer.from(data.slice(2), 'hex')
    const intrinsic = 21_000 + bytes.reduce((sum, byte) => sum + (byte === 0 ? 4 : 16), 0)
    return {
      answer: (decodeFunctionResult({ abi, functionName: name, data: returnData }) as Hex).slice(2),
      gas: Number(gasUsed) - intrinsic,
    }
  }

  it('need a fraction of their gas in the worst block', async () => {
    const all = crowd(VALIDATORS)
    const { storage } = genesisStorage(all, 60)
    const due = await now()
    const entries = Array.from({ length: UNBONDINGS }, (_, i) => ({
      delegator: account(100_000 + i),
      operator: account(5000 + (i % VALIDATORS)),
      gwei: BigInt(i + 1),
    }))
    queueUnbondings(storage, entries, due, 40)
    const reports = all.map((v) => encodePacked(['uint8', 'address', 'uint64'], [1, consensusAddress(v.key), 1n]).slice(2))
    const { answer, gas } = await simulated(storage, 'begin', [due, FIRST, `0x${reports.join('').repeat(3)}`])
    // Begun in the block of the misbehavior, so 5 % of each is gone, rounded down; the first has
    // nothing left.
    const paid = entries
      .slice(1, 17)
      .map(({ delegator, gwei }) => `${delegator.slice(2)}${((gwei * 95n) / 100n).toString(16).padStart(16, '0')}`)
    expect(answer).toBe(paid.join(''))
    expect(gas).toBeLessThan(SYSTEM_GAS / 2)
    // The same without misbehavior and without anything due.
    const { answer: none, gas: least } = await simulated(storage, 'begin', [due - 1n, FIRST, '0x'])
    expect(none).toBe('')
    expect(least).toBeLessThan(200_000)
  })

  it('report 1,000 changes in one block, and users add none', async () => {
    const all = crowd(CHANGES)
    const { storage } = genesisStorage(all, 60)
    const operators = all.map((v) => v.operator)
    // All but the last 100 have had power until now; those 100 get theirs.
    markChanged(
      storage,
      operators,
      all.map((_, i) => (i < CHANGES - VALIDATORS ? 7n : 0n)),
    )
    const { answer, gas } = await simulated(storage, 'end', [])
    const updates = all.map((v, i) => `00${v.key.slice(2)}${(i < CHANGES - VALIDATORS ? 0 : v.power).toString(16).padStart(16, '0')}`)
    expect(answer).toBe(updates.join(''))
    expect(gas).toBeLessThan(SYSTEM_GAS / 2)
    for (const [slot, value] of Object.entries(genesisStorage(crowd(1), 60).storage)) await call('anvil_setStorageAt', STAKING, slot, value)
    await call('anvil_setStorageAt', STAKING, key(7), numberToHex(CHANGES, { size: 32 }))
    expect(await refused('delegate', [account(5000)], { from: ALICE, value: parseEther('1') })).toBe(`TooManyChanges(${CHANGES})`)
  })
})
