// Blobs of a development chain: accepted with their proofs, and read back while they are pending
// and after they were mined.
import fs from 'node:fs'
import { commitmentsToVersionedHashes, type Hex } from 'viem'
import { mnemonicToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Calls } from './dev-calls.ts'
import { startDev } from './dev-node.ts'
import { type RunningNode, tempHome } from './harness.ts'

const ACCOUNT = mnemonicToAccount('test test test test test test test test test test test junk')

/**
 * Commitments to the polynomials that are 1 and 2 everywhere: the generator of the first group of
 * BLS12-381 and its double. Their quotients are zero, so every proof is the point at infinity, and
 * no trusted set-up is needed to make them.
 */
const COMMITMENTS: readonly Hex[] = [
  '0x97f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905a14e3a3f171bac586c55e83ff97a1aeffb3af00adb22c6bb',
  '0xa572cbea904d67468808c8eb50a9450c9721db309128012543902d0ac358a62ae28f75bb8f1c7c42c39a8c5529bf0f4e',
]
const INFINITY: Hex = `0xc0${'00'.repeat(47)}`

/** Field elements of a blob (EIP-4844). */
const ELEMENTS = 4096

/** A blob all of whose elements are `n`. */
const blobOf = (n: number): Hex => `0x${n.toString(16).padStart(64, '0').repeat(ELEMENTS)}`
const BLOBS = [blobOf(1), blobOf(2)] as const
const HASHES = commitmentsToVersionedHashes({ commitments: [...COMMITMENTS] })

let node: RunningNode
let dev: Calls
beforeAll(async () => {
  node = await startDev()
  dev = new Calls(node.url)
})
afterAll(() => node.stop())

/** A signed transaction that carries these blobs with the commitments above. */
async function carrying(blobs: readonly Hex[], to = dev): Promise<Hex> {
  return await ACCOUNT.signTransaction({
    type: 'eip4844',
    chainId: 31_337,
    nonce: Number(await to.call<string>('eth_getTransactionCount', ACCOUNT.address, 'latest')),
    to: ACCOUNT.address,
    gas: 21_000n,
    maxFeePerGas: 10n ** 10n,
    maxPriorityFeePerGas: 1n,
    maxFeePerBlobGas: 10n ** 10n,
    blobVersionedHashes: HASHES,
    sidecars: blobs.map((blob, i) => ({ blob, commitment: COMMITMENTS[i] as Hex, proof: INFINITY })),
  })
}

describe('blobs', () => {
  it('return by transaction and versioned hash, pending or mined', async () => {
    await dev.call('evm_setAutomine', false)
    const hash = await dev.call<Hex>('eth_sendRawTransaction', await carrying(BLOBS))
    expect(await dev.call('anvil_getBlobsByTransactionHash', hash)).toEqual(BLOBS)
    await dev.call('evm_mine')
    await dev.call('evm_setAutomine', true)
    expect(await dev.call('eth_getTransactionReceipt', hash)).toMatchObject({ status: '0x1', type: '0x3', blobGasUsed: '0x40000' })
    expect(await dev.call('eth_getTransactionByHash', hash)).toMatchObject({ blobVersionedHashes: HASHES })
    expect(await dev.call('anvil_getBlobsByTransactionHash', hash)).toEqual(BLOBS)
    for (const [i, versioned] of HASHES.entries()) expect(await dev.call('anvil_getBlobByHash', versioned)).toBe(BLOBS[i])
  })

  it('may be part of a transaction that is traced unsent', async () => {
    const traced = await dev.call<{ trace: unknown[] }>('trace_rawTransaction', await carrying(BLOBS), ['trace'])
    const self = ACCOUNT.address.toLowerCase()
    expect(traced.trace).toMatchObject([{ type: 'call', action: { from: self, to: self, value: '0x0' } }])
  })

  it('are null after a restart; their transaction stays', async () => {
    const home = tempHome()
    const first = await startDev(['--home', home])
    const hash = await new Calls(first.url).call<Hex>('eth_sendRawTransaction', await carrying(BLOBS, new Calls(first.url)))
    expect(await new Calls(first.url).call('anvil_getBlobsByTransactionHash', hash)).toEqual(BLOBS)
    expect(await first.stop()).toBe(0)
    const second = await startDev(['--home', home])
    const again = new Calls(second.url)
    expect(await again.call('eth_getTransactionReceipt', hash)).toMatchObject({ status: '0x1', type: '0x3', blobGasUsed: '0x40000' })
    expect(await again.call('eth_getTransactionByHash', hash)).toMatchObject({ blobVersionedHashes: HASHES })
    expect(await again.call('anvil_getBlobsByTransactionHash', hash)).toBe(null)
    for (const versioned of HASHES) expect(await again.call('anvil_getBlobByHash', versioned)).toBe(null)
    expect(await second.stop()).toBe(0)
    fs.rmSync(home, { recursive: true, force: true })
  })

  it('are null for what is not there', async () => {
    const nothing = `0x${'12'.repeat(32)}`
    expect(await dev.call('anvil_getBlobsByTransactionHash', nothing)).toBe(null)
    expect(await dev.call('anvil_getBlobByHash', nothing)).toBe(null)
  })

  it('are refused where they are not what their commitments say', async () => {
    const raw = await carrying([BLOBS[0], blobOf(3)])
    expect((await dev.refused('eth_sendRawTransaction', raw)).message).toMatch(/blob|proof|kzg/i)
  })
})
