// Files of CometBFT: keys, genesis.json, config.toml, and the genesis of the Ethereum chain within.
import { createHash, createPrivateKey, createPublicKey, sign, verify } from 'node:crypto'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { parse } from 'smol-toml'
import { describe, expect, it } from 'vitest'
import { configToml, type NodeOptions } from '../../ts/consensus/config-toml.ts'
import {
  developmentGenesis,
  factsOf,
  parseGenesis,
  readJson,
  underCometbft,
  withCommitment,
  withFunds,
  writeJson,
} from '../../ts/consensus/eth-genesis.ts'
import { appStateOf, genesisFile, networkName } from '../../ts/consensus/genesis.ts'
import { isLocalAddress, joinUrls, peerAddress } from '../../ts/consensus/join.ts'
import { newKeyPair, nodeId, nodeKeyFile, validatorAddress, validatorKeyFile } from '../../ts/consensus/keys.ts'
import { type ENGINE_FILES, engineFile } from '../../ts/consensus/layout.ts'
import { basePortMax, testnetNodes } from '../../ts/consensus/testnet.ts'
import { writeEngineFiles } from '../../ts/consensus/write.ts'

const options: NodeOptions = { moniker: 'node0', peers: [], local: false, exchangesPeers: true }

describe('keys', () => {
  it('are pairs of ed25519 whose halves belong together', () => {
    const pair = newKeyPair()
    const file = JSON.parse(validatorKeyFile(pair)) as Record<'pub_key' | 'priv_key', { type: string; value: string }> & { address: string }
    expect(file.pub_key.type).toBe('tendermint/PubKeyEd25519')
    expect(file.priv_key.type).toBe('tendermint/PrivKeyEd25519')
    const secret = Buffer.from(file.priv_key.value, 'base64')
    const point = Buffer.from(file.pub_key.value, 'base64')
    expect(secret.length).toBe(64)
    expect(secret.subarray(32)).toEqual(point)
    expect(file.address).toBe(createHash('sha256').update(point).digest('hex').slice(0, 40).toUpperCase())
    // The prefixes of RFC 8410.
    const privateKey = createPrivateKey({
      key: Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), secret.subarray(0, 32)]),
      format: 'der',
      type: 'pkcs8',
    })
    const publicKey = createPublicKey({
      key: Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), point]),
      format: 'der',
      type: 'spki',
    })
    const message = Buffer.from('a vote')
    expect(verify(null, message, publicKey, sign(null, message, privateKey))).toBe(true)
  })

  it('name a node by the same digits in lower case', () => {
    const pair = newKeyPair()
    expect(nodeId(pair)).toMatch(/^[0-9a-f]{40}$/)
    expect(nodeId(pair).toUpperCase()).toBe(validatorAddress(pair))
    expect(JSON.parse(nodeKeyFile(pair))).toEqual({ priv_key: { type: 'tendermint/PrivKeyEd25519', value: expect.any(String) } })
    expect(nodeId(newKeyPair())).not.toBe(nodeId(pair))
  })
})

describe('genesis.json', () => {
  const now = Date.UTC(2026, 0, 2, 3, 4, 5, 678)

  it('has the genesis of the chain, validators and gas limit', () => {
    const key = newKeyPair()
    const eth = developmentGenesis(77, Math.floor(now / 1000))
    const file = JSON.parse(genesisFile(eth, [{ name: 'node0', key }], now))
    expect(file).toMatchObject({
      genesis_time: '2026-01-02T03:04:05.678Z',
      chain_id: 'hearth-77',
      initial_height: '1',
      consensus_params: { block: { max_bytes: '4194304', max_gas: '30000000' }, version: { app: '1' } },
      validators: [{ address: validatorAddress(key), power: '10', name: 'node0' }],
      app_hash: '',
    })
    expect(file.app_state).toEqual(eth)
    expect(appStateOf(JSON.stringify(file))).toEqual(eth)
  })

  it('begins no earlier than block 0', () => {
    const eth = developmentGenesis(77, Math.floor(now / 1000) + 3600)
    expect(JSON.parse(genesisFile(eth, [], now)).genesis_time).toBe('2026-01-02T04:04:05.000Z')
  })

  it('of another network is refused', () => {
    expect(() => appStateOf(JSON.stringify({ chain_id: 'x', app_state: {} }))).toThrow('it is no network of Hearth')
    expect(() => appStateOf(JSON.stringify({ chain_id: 'x', app_state: developmentGenesis(5, 0) }))).toThrow(
      'has the chain id x, not hearth-5',
    )
    expect(() => appStateOf('{')).toThrow('the genesis is no JSON')
  })

  it('needs a gas limit that CometBFT can name', () => {
    const eth = { ...developmentGenesis(5, 0), gasLimit: '0xffffffffffffffff' }
    expect(() => genesisFile(eth, [], 0)).toThrow('the gas limit of the genesis is over 9223372036854775807')
  })
})

describe('the genesis of the chain', () => {
  it('has every fork up to Osaka, the contracts, no funds', () => {
    const { config, alloc } = developmentGenesis(5, 9) as {
      config: Record<string, unknown>
      alloc: Record<string, { balance: string; code: string }>
    }
    expect(config).toMatchObject({
      chainId: 5,
      londonBlock: 0,
      terminalTotalDifficulty: 0,
      pragueTime: 0,
      osakaTime: 0,
      bft: { engine: 'cometbft' },
    })
    const addresses = Object.keys(alloc).map((address) => address.toLowerCase())
    // EIP-4788, EIP-2935, EIP-7002, EIP-7251.
    expect(addresses).toEqual(
      expect.arrayContaining([
        '0x000f3df6d732807ef1319fb7b8bb8522d0beac02',
        '0x0000f90827f1c53a10cb7a02335b175320002935',
        '0x00000961ef480eb55e80d19ad83579a64c007002',
        '0x0000bbddc7ce488642fb579f8b00f3a590007251',
      ]),
    )
    expect(Object.values(alloc).every(({ balance, code }) => balance === '0x0' && code.length > 100)).toBe(true)
  })

  it('keeps large whole numbers, and digits in texts', () => {
    const text = '{"config":{"chainId":5,"terminalTotalDifficulty":58750000000000000000000,"x":"58750000000000000000000 \\" 1"},"n":1.5}'
    expect(writeJson(readJson(text), 0)).toBe(`${text}\n`)
    expect(factsOf({ ...parseGenesis(text), gasLimit: 30_000_000 })).toEqual({ chainId: 5, gasLimit: 30_000_000n, time: 0 })
    expect(factsOf(parseGenesis('{"config":{"chainId":"0x5"},"gasLimit":10000000000000000000,"timestamp":"0x10"}'))).toEqual({
      chainId: 5,
      gasLimit: 10_000_000_000_000_000_000n,
      time: 16,
    })
  })

  it('marks a given one as under CometBFT, keeps its chain id', () => {
    const given = { config: { chainId: 9, pragueTime: 1 }, gasLimit: '0x1', alloc: {} }
    expect(underCometbft(given, undefined).config).toEqual({ chainId: 9, pragueTime: 1, bft: { engine: 'cometbft' } })
    expect(underCometbft(given, 9).config).toEqual({ chainId: 9, pragueTime: 1, bft: { engine: 'cometbft' } })
    const lthash = { ...given, config: { ...given.config, bft: { engine: 'cometbft', commitment: 'lthash', initialHeight: 7 } } }
    expect(underCometbft(lthash, undefined).config).toMatchObject({ bft: { engine: 'cometbft', commitment: 'lthash' } })
    expect(withCommitment(given, 'lthash').config).toEqual({
      chainId: 9,
      pragueTime: 1,
      bft: { engine: 'cometbft', commitment: 'lthash' },
    })
    expect(withCommitment(lthash, 'mpt').config).toMatchObject({ bft: { commitment: 'mpt' } })
    expect(() => underCometbft(given, 10)).toThrow('the genesis has the chain id 9, not 10')
    expect(() => factsOf({ gasLimit: '0x1' })).toThrow('no config.chainId')
    expect(() => factsOf({ config: { chainId: 1 } })).toThrow('no gasLimit')
  })

  it('funds accounts beside those that it has', () => {
    const given = { alloc: { ABcd000000000000000000000000000000000001: { balance: '0x1', code: '0x00' } } }
    const funds = [
      { address: '0xabCD000000000000000000000000000000000001', balance: 16n },
      { address: '0x0000000000000000000000000000000000000002', balance: 255n },
    ]
    expect(withFunds(given, funds).alloc).toEqual({
      ABcd000000000000000000000000000000000001: { balance: '0x10', code: '0x00' },
      '0x0000000000000000000000000000000000000002': { balance: '0xff' },
    })
  })
})

describe('config.toml', () => {
  it('is TOML with what a node needs', () => {
    const peers = ['a@127.0.0.1:1', 'b@127.0.0.1:2']
    const toml = parse(configToml({ ...options, moniker: 'a "name"', peers, local: true, exchangesPeers: false })) as Record<string, object>
    expect(toml).toMatchObject({
      moniker: 'a "name"',
      log_format: 'json',
      p2p: { persistent_peers: 'a@127.0.0.1:1,b@127.0.0.1:2', addr_book_strict: false, allow_duplicate_ip: true, pex: false },
      mempool: { type: 'flood' },
      statesync: { enable: false, trust_height: 0 },
      consensus: { create_empty_blocks: true },
    })
    expect((parse(configToml(options)) as Record<string, object>).p2p).toMatchObject({ addr_book_strict: true, allow_duplicate_ip: false })
  })

  it('begins at a snapshot where two nodes can be compared', () => {
    const sync = { servers: ['http://a:1', 'http://b:1'], trustHeight: 12, trustHash: 'AB'.repeat(32) }
    expect((parse(configToml({ ...options, stateSync: sync })) as Record<string, object>).statesync).toMatchObject({
      enable: true,
      rpc_servers: 'http://a:1,http://b:1',
      trust_height: 12,
      trust_hash: 'AB'.repeat(32),
    })
    expect(() => configToml({ ...options, stateSync: { ...sync, servers: ['http://a:1', 'http://a:1'] } })).toThrow('at least two URLs')
  })
})

describe('the files of a home', () => {
  it('are written once, keys for their owner alone', () => {
    const home = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-test-'))
    try {
      const files = { validatorKey: newKeyPair(), nodeKey: newKeyPair(), genesis: '{}', options }
      writeEngineFiles(home, files)
      const mode = (file: keyof typeof ENGINE_FILES): number => fs.statSync(engineFile(home, file)).mode & 0o777
      expect([mode('validatorKey'), mode('nodeKey'), mode('validatorState')]).toEqual([0o600, 0o600, 0o600])
      expect(JSON.parse(fs.readFileSync(engineFile(home, 'validatorState'), 'utf8'))).toEqual({ height: '0', round: 0, step: 0 })
      expect(() => writeEngineFiles(home, files)).toThrow('EEXIST')
    } finally {
      fs.rmSync(home, { recursive: true })
    }
  })
})

describe('joining', () => {
  it('takes URLs of CometBFT', () => {
    expect(joinUrls('http://a:26657/, https://b')).toEqual(['http://a:26657', 'https://b'])
    expect(() => joinUrls('a:26657')).toThrow('not "a:26657"')
    expect(() => joinUrls('')).toThrow('--join takes URLs')
  })

  it('finds the address of a node that names no reachable one', () => {
    const id = 'ab'.repeat(20)
    expect(peerAddress(id, 'tcp://0.0.0.0:26656', '203.0.113.5')).toBe(`${id}@203.0.113.5:26656`)
    expect(peerAddress(id, 'tcp://127.0.0.1:7', '203.0.113.5')).toBe(`${id}@203.0.113.5:7`)
    expect(peerAddress(id, 'tcp://198.51.100.1:7', '10.0.0.1')).toBe(`${id}@198.51.100.1:7`)
    expect(peerAddress(id, 'tcp://[::]:7', '2001:db8::1')).toBe(`${id}@[2001:db8::1]:7`)
    expect(peerAddress(id, 'nonsense', '203.0.113.5')).toBeUndefined()
    expect(peerAddress('short', 'tcp://0.0.0.0:1', '203.0.113.5')).toBeUndefined()
  })

  it('knows addresses that the internet does not route', () => {
    expect(
      ['127.0.0.1', '10.1.2.3', '172.31.0.1', '192.168.1.1', '100.64.0.1', '::1', 'fd00::1', 'localhost'].filter(isLocalAddress),
    ).toHaveLength(8)
    expect(['8.8.8.8', '172.32.0.1', '100.128.0.1', '2001:db8::1', 'example.org'].filter(isLocalAddress)).toEqual([])
  })
})

describe('a network on one machine', () => {
  it('has ten ports for each node, validators first', () => {
    const nodes = testnetNodes(2, 1, 27_000)
    expect(nodes.map(({ name, role }) => `${name} ${role}`)).toEqual(['node0 validator', 'node1 validator', 'follower0 follower'])
    expect(nodes[2]?.ports).toEqual({ p2p: 27_020, rpc: 27_021, http: 27_022, ws: 27_023, metrics: 27_024, grpc: 27_025, rest: 27_026 })
    expect(testnetNodes(1, 1, basePortMax(2)).at(-1)?.ports.rest).toBe(65_535)
    expect(networkName(7)).toBe('hearth-7')
  })
})
