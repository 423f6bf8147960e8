import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { NAMESPACES } from '../../ts/config/index.ts'
import { DEV_METHODS } from '../../ts/rpc/methods/dev/index.ts'
import { ENGINE_METHODS } from '../../ts/rpc/methods/engine/index.ts'
import { DEV_NAMESPACES, METHODS, methodTable, namespaceOf, servedNamespaces } from '../../ts/rpc/table.ts'

const DIR = path.resolve(import.meta.dirname, '../../ts/rpc/methods')

describe('the table of methods', () => {
  it('has one file per method, named after it; others by topic', () => {
    const files = fs
      .readdirSync(DIR)
      .filter((ns) => ns !== 'dev' && ns !== 'engine')
      .flatMap((ns) =>
        fs
          .readdirSync(path.join(DIR, ns))
          .filter((file) => file !== 'index.ts')
          .map((file) => `${ns}_${file.replace(/\.ts$/, '')}`),
      )
    expect(files.sort()).toEqual(
      METHODS.filter((m) => !DEV_METHODS.includes(m) && !ENGINE_METHODS.includes(m))
        .map((m) => m.name)
        .sort(),
    )
  })

  it('has each name once, the names of a namespace in order', () => {
    const names = METHODS.map((m) => m.name)
    expect(new Set(names).size).toBe(names.length)
    expect(names.slice(0, 3)).toEqual(['eth_accounts', 'eth_baseFee', 'eth_blobBaseFee'])
  })

  it('documents each, has optional ones last, marks writes', () => {
    for (const { name, doc, params } of METHODS) {
      expect(doc, name).toMatch(/^[A-Z].*\.$/)
      const firstOptional = params.findIndex((p) => !p.required)
      if (firstOptional >= 0)
        expect(
          params.slice(firstOptional).every((p) => !p.required),
          name,
        ).toBe(true)
    }
    const writes = METHODS.filter((m) => m.cost === 'write').map((m) => m.name)
    const ofDev = DEV_METHODS.filter((m) => !/_(get|nodeInfo|metadata|dumpState)/.test(m.name)).map((m) => m.name)
    const ofEngine = ENGINE_METHODS.filter((m) => /newPayload|forkchoiceUpdated/.test(m.name)).map((m) => m.name)
    expect(writes).toEqual(['eth_sendRawTransaction', 'eth_sendRawTransactionSync', 'eth_sendTransaction', ...ofEngine, ...ofDev])
  })

  it('keeps the development namespaces to development chains', () => {
    const asked = ['eth', ...DEV_NAMESPACES]
    expect(servedNamespaces(asked, false)).toEqual(['eth'])
    expect(servedNamespaces(['eth'], true)).toEqual(['eth', 'anvil', 'evm', 'hardhat', 'personal', 'tenderly'])
    expect([...new Set(METHODS.map((m) => namespaceOf(m.name)))].sort()).toEqual(['engine', ...NAMESPACES].sort())
    expect(DEV_NAMESPACES).toEqual(['anvil', 'evm', 'hardhat', 'personal', 'tenderly'])
  })

  it('serves the namespaces asked for alone', () => {
    expect([...methodTable(['net', 'rpc', 'nothing'], []).keys()].sort()).toEqual([
      'net_listening',
      'net_peerCount',
      'net_version',
      'rpc_modules',
    ])
    expect([namespaceOf('eth_call'), namespaceOf('call'), namespaceOf('_x')]).toEqual(['eth', '', ''])
  })
})
