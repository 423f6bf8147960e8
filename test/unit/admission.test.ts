// Limits kept by client: whose a request is, how many it may send, how many bytes may wait.
import { describe, expect, it } from 'vitest'
import { ClientAddresses } from '../../ts/server/admission/address.ts'
import { BUCKETS_MAX, TokenBuckets } from '../../ts/server/admission/buckets.ts'
import { ByteBudget } from '../../ts/server/admission/budget.ts'
import { ClientBudgets } from '../../ts/server/admission/client-budget.ts'

const from = (remoteAddress: string | undefined, forwarded?: string | string[]) =>
  ({ socket: { remoteAddress }, headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded } }) as never

describe('addresses', () => {
  it('are the socket, IPv4-mapped too, IPv6 by its first 64 bits', () => {
    const clients = new ClientAddresses([])
    for (const [peer, key] of [
      ['203.0.113.9', '203.0.113.9'],
      ['::ffff:203.0.113.9', '203.0.113.9'],
      ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
      ['2001:0DB8:0001:0002::9', '2001:db8:1:2::/64'],
      ['2001:db8::9', '2001:db8:0:0::/64'],
      ['::1', '0:0:0:0::/64'],
      ['fe80::1%eth0', 'fe80:0:0:0::/64'],
      ['fe80::1%br-lan.100', 'fe80:0:0:0::/64'],
      ['::ffff:cb00:7109', '203.0.113.9'],
      ['0:0:0:0:0:FFFF:203.0.113.9', '203.0.113.9'],
      ['0x7f.1', 'unknown'],
      [undefined, 'unknown'],
    ] as const) {
      expect(clients.of(from(peer)), String(peer)).toBe(key)
    }
  })

  it('do not believe X-Forwarded-For of anyone', () => {
    expect(new ClientAddresses([]).of(from('203.0.113.9', '198.51.100.1'))).toBe('203.0.113.9')
    expect(new ClientAddresses(['10.0.0.0/8']).of(from('203.0.113.9', '198.51.100.1'))).toBe('203.0.113.9')
  })

  it('are the right-most untrusted address behind a trusted proxy', () => {
    const clients = new ClientAddresses(['10.0.0.0/8', '::1', 'fd00::/8', '192.0.2.7'])
    for (const [peer, forwarded, key] of [
      ['10.1.2.3', '198.51.100.1', '198.51.100.1'],
      ['10.1.2.3', 'spoofed, 198.51.100.1, 10.9.9.9', '198.51.100.1'],
      ['10.1.2.3', '1.1.1.1, 198.51.100.1 , 192.0.2.7', '198.51.100.1'],
      ['::1', ['1.1.1.1', '[2001:db8::5]:443'], '2001:db8:0:0::/64'],
      ['::ffff:10.1.2.3', '198.51.100.1:5512', '198.51.100.1'],
      ['10.1.2.3', '10.1.1.1, 10.2.2.2', '10.1.1.1'],
      ['10.1.2.3', 'nonsense', '10.1.2.3'],
      ['10.1.2.3', 'nonsense, 10.4.4.4', '10.4.4.4'],
      ['10.1.2.3', undefined, '10.1.2.3'],
      ['fd00::1', '198.51.100.1', '198.51.100.1'],
      ['::ffff:a01:203', '198.51.100.1', '198.51.100.1'],
      ['10.1.2.3', '0x7f.1', '10.1.2.3'],
    ] as const) {
      expect(clients.of(from(peer, forwarded as string | undefined)), `${peer} ${forwarded}`).toBe(key)
    }
  })
})

describe('trusted networks', () => {
  const trusts = (network: string, peer: string) => new ClientAddresses([network]).of(from(peer, '198.51.100.1')) === '198.51.100.1'

  it.each([
    ['::ffff:10.0.0.0/104', '10.255.0.1', true],
    ['::ffff:10.0.0.0/104', '11.0.0.1', false],
    ['::ffff:10.0.0.7', '10.0.0.7', true],
    ['::ffff:10.0.0.7', '10.0.0.8', false],
    ['0.0.0.0/0', '203.0.113.9', true],
    ['0.0.0.0/0', '2001:db8::1', false],
    ['::/0', '2001:db8::1', true],
    ['2001:db8::/33', '2001:db8:7fff::1', true],
    ['2001:db8::/33', '2001:db8:8000::1', false],
    ['fe80::/10', 'fe80::1%eth0', true],
    ['10.0.0.1/8', '10.2.3.4', true],
  ])('%s and %s: %s', (network, peer, is) => {
    expect(trusts(network, peer)).toBe(is)
  })
})

describe('token buckets', () => {
  it('allow a burst, then a fixed rate, and report the wait', () => {
    let now = 0
    const buckets = new TokenBuckets(10, 5, () => now)
    expect(buckets.take('a', 5)).toBe(0)
    expect(buckets.take('a', 1)).toBe(100)
    expect(buckets.take('b', 1)).toBe(0)
    now = 99
    expect(buckets.take('a', 1)).toBe(1)
    now = 100
    expect(buckets.take('a', 1)).toBe(0)
    now = 300
    expect(buckets.take('a', 3)).toBe(100)
    expect(buckets.take('a', 2)).toBe(0)
    now = 100_000
    expect(buckets.take('a', 6)).toBeGreaterThan(0)
    expect(buckets.take('a', 5)).toBe(0)
  })

  it('let a whole burst through at any time of the day', () => {
    let now = 0
    const buckets = new TokenBuckets(3, 1, () => now)
    for (let i = 0; i < 10_000; i++) {
      now = i * 1000.123456789
      expect(buckets.take('a', 1), String(now)).toBe(0)
    }
  })

  it('remember a bounded number of clients, the latest ones', () => {
    const buckets = new TokenBuckets(1, 1, () => 0)
    expect(buckets.take('first', 1)).toBe(0)
    expect(buckets.take('first', 1)).toBe(1000)
    for (let i = 0; i < BUCKETS_MAX; i++) buckets.take(`client ${i}`, 1)
    expect(buckets.size).toBe(BUCKETS_MAX)
    expect(buckets.take(`client ${BUCKETS_MAX - 1}`, 1)).toBe(1000)
    expect(buckets.take('first', 1)).toBe(0)
  })
})

describe('the budget of bytes', () => {
  it('is taken and given back', () => {
    const budget = new ByteBudget(100)
    expect([budget.take(60), budget.take(41), budget.take(40)]).toEqual([true, false, true])
    expect(budget.taken).toBe(100)
    budget.release(60)
    expect([budget.take(61), budget.take(60)]).toEqual([false, true])
    budget.release(100)
    expect(budget.taken).toBe(0)
  })

  it('0 is no limit', () => {
    const budget = new ByteBudget(0)
    expect([budget.take(1e12), budget.take(1e12)]).toEqual([true, true])
  })

  it('admits those who wait in order, and gives up on time', async () => {
    const budget = new ByteBudget(100)
    expect(budget.take(100)).toBe(true)
    const order: string[] = []
    const first = budget.takeWithin(80, 10_000).then((admitted) => order.push(`first ${admitted}`))
    const late = budget.takeWithin(50, 20).then((admitted) => order.push(`late ${admitted}`))
    const last = budget.takeWithin(20, 10_000).then((admitted) => order.push(`last ${admitted}`))
    expect(budget.take(0)).toBe(false)
    await late
    budget.release(100)
    await Promise.all([first, last])
    expect(order).toEqual(['late false', 'first true', 'last true'])
    expect(budget.taken).toBe(100)
  })
})

describe('the budgets of clients', () => {
  it('leave room for others, and name what is lacking', () => {
    const budgets = new ClientBudgets(100, 0.5, 10)
    const [many, again, other, third] = [budgets.of('a'), budgets.of('a'), budgets.of('b'), budgets.of('c')]
    expect([many.take(30), again.take(20), again.take(1), again.isOverShare]).toEqual([true, true, false, true])
    expect([other.take(50), third.take(1), third.isOverShare]).toEqual([true, false, false])
    many.release(30)
    expect([again.take(30), third.take(1)]).toEqual([true, false])
    again.release(50)
    expect([third.take(50), many.take(1), many.isOverShare]).toEqual([true, false, false])
  })

  it('allow one request of any size, and everything with share 1', () => {
    const small = new ClientBudgets(100, 0.01, 10).of('a')
    expect([small.take(4), small.take(6), small.take(1)]).toEqual([true, true, false])
    const whole = new ClientBudgets(100, 1, 10).of('a')
    expect([whole.take(60), whole.take(40), whole.take(1), whole.isOverShare]).toEqual([true, true, false, false])
    const endless = new ClientBudgets(0, 0.5, 10).of('a')
    expect([endless.take(1e12), endless.take(1e12)]).toEqual([true, true])
  })

  it('let nobody wait behind a client that has its share', async () => {
    const budgets = new ClientBudgets(100, 0.5, 10)
    const [many, other] = [budgets.of('a'), budgets.of('b')]
    expect(many.take(50)).toBe(true)
    const order: string[] = []
    const waiting = many.takeWithin(20, 60_000).then((admitted) => order.push(`many ${admitted}`))
    expect(await other.takeWithin(50, 60_000)).toBe(true)
    order.push('other')
    many.release(20)
    expect(other.take(1)).toBe(false)
    other.release(50)
    await waiting
    expect(order).toEqual(['other', 'many true'])
    expect(await many.takeWithin(1, 0)).toBe(false)
    expect(many.isOverShare).toBe(true)
  })

  it('are forgotten with the last connection and the last byte', () => {
    const budgets = new ClientBudgets(100, 0.5, 10)
    const [first, second] = [budgets.of('a'), budgets.of('a')]
    expect(first.take(50)).toBe(true)
    first.leave()
    second.leave()
    expect([budgets.clients, budgets.of('a').take(1)]).toEqual([1, false])
    first.release(50)
    expect(budgets.clients).toBe(1)
    const lone = budgets.of('b')
    lone.leave()
    expect(budgets.clients).toBe(1)
  })
})
