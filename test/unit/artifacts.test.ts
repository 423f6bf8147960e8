// Artifacts: how code is compared, source maps in bytes, slots by a layout, files that are broken,
// and the routes of the explorer that serve them.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { ArtifactFolders } from '../../ts/artifacts/index.ts'
import { resolveSettings } from '../../ts/config/index.ts'
import { ArtifactSet, Lines, partValue, readLayout, SlotNames, SourceLines, SourceMap } from '../../ts/explore/artifacts/index.ts'
import { explorerArtifacts } from '../../ts/node/explorer.ts'
import { batchLimits, rpcContext } from '../../ts/node/node-config.ts'
import { makeDispatch } from '../../ts/rpc/dispatch.ts'
import { type Server, startServer } from '../../ts/server/index.ts'
import { fakeCore } from './fake-core.ts'

/** The end of a code as solc writes it: a hash of the metadata, and its version. */
const metadata = (byte: string): string => `a264697066735822${'1220'}${byte.repeat(32)}64736f6c63430008250033`
const CODE = `6080604052${'00'.repeat(32)}fe`
const ADDRESS = `0x${'ab'.repeat(20)}`

/** An artifact of Foundry. */
const artifact = (name: string, object: string, more: object = {}): string =>
  JSON.stringify({
    abi: [{ type: 'function', name: 'f', inputs: [] }],
    deployedBytecode: { object, ...more },
    metadata: { settings: { compilationTarget: { 'a.sol': name } } },
  })

const setOf = (...files: string[]): ArtifactSet => {
  const set = new ArtifactSet()
  for (const [i, text] of files.entries()) set.add(`${i}.json`, text)
  return set
}
const names = (set: ArtifactSet, code: string): string[] =>
  set.matchRuntime(`0x${code}`).map(({ contract, how }) => `${contract.name}: ${how}`)

describe('matching', () => {
  it('masks immutables and libraries, and nothing else', () => {
    const immutable = { immutableReferences: { 7: [{ start: 5, length: 32 }] } }
    const set = setOf(artifact('A', `0x${CODE}`, immutable))
    expect(names(set, CODE.replace('00'.repeat(32), '12'.repeat(32)))).toEqual(['A: exact'])
    expect(names(set, CODE.replace('fe', 'ff'))).toEqual([])
    const library = `73${'00'.repeat(20)}3014608060`
    expect(names(setOf(artifact('L', library)), library.replace('00'.repeat(20), 'ab'.repeat(20)))).toEqual(['L: exact'])
    const unlinked = `73__$${'0'.repeat(34)}$__5af4`
    expect(names(setOf(artifact('U', unlinked)), `73${'cd'.repeat(20)}5af4`)).toEqual(['U: exact'])
  })

  it('separates different metadata from equal code, for all copies', () => {
    const [one, other] = [`${CODE}${metadata('11')}`, `${CODE}${metadata('22')}`]
    expect(names(setOf(artifact('A', one)), other)).toEqual(['A: metadata differs'])
    expect(names(setOf(artifact('A', one), artifact('B', other)), other)).toEqual(['B: exact'])
    expect(names(setOf(artifact('A', one), artifact('B', one)), one)).toEqual(['A: exact', 'B: exact'])
  })
})

describe('source maps', () => {
  it('give one entry per instruction, and end at invalid ones', () => {
    const map = new SourceMap('1:2:0:-;:3;5::1:i;x:1:0;9:9:0', '60ff5b5b5b5b')
    expect([0, 1, 2, 3, 4].map((pc) => map.at(pc))).toEqual([
      { start: 1, length: 2, file: 0, jump: '-' },
      undefined,
      { start: 1, length: 3, file: 0, jump: '-' },
      { start: 5, length: 3, file: 1, jump: 'i' },
      undefined,
    ])
  })

  it('count bytes, and give columns in characters', () => {
    const lines = new Lines('// Größe\nx = 1;\n')
    expect([lines.at(0), lines.at(11), lines.at(100)]).toEqual([{ line: 1, column: 1 }, { line: 2, column: 1 }, undefined])
    expect(lines.at(10)).toEqual({ line: 1, column: 9 })
  })

  it('of a file without a source say why', () => {
    const lines = new SourceLines({ name: 'A', runtime: { hex: '5b', map: '0:1:0:-' }, files: [{ id: 0, path: 'a.sol', problem: 'gone' }] })
    expect([lines.at('runtime', 0), lines.problemAt('runtime', 0)]).toEqual([undefined, 'a.sol: gone'])
    expect(lines.problemAt('creation', 0)).toBe('the artifact has no source map for this code')
  })
})

it('values of a slot: signed, packed, short and long bytes', () => {
  const layout = readLayout({
    storage: [
      { label: 'a', slot: '0', offset: 0, type: 't_int8' },
      { label: 'b', slot: '0', offset: 1, type: 't_address' },
      { label: 's', slot: '1', offset: 0, type: 't_string' },
    ],
    types: {
      t_int8: { encoding: 'inplace', label: 'int8', numberOfBytes: '1' },
      t_address: { encoding: 'inplace', label: 'address', numberOfBytes: '20' },
      t_string: { encoding: 'bytes', label: 'string', numberOfBytes: '32' },
    },
  })
  const parts = new SlotNames(layout as NonNullable<typeof layout>, new Map())
  const word = `0x${'00'.repeat(11)}${'ab'.repeat(20)}ff`
  expect(parts.parts('0x0').map((part) => `${part.name}: ${partValue(part, word)}`)).toEqual(['a: -1', `b: ${ADDRESS}`])
  const text = (hex: string): string[] => parts.parts('0x1').map((part) => partValue(part, `0x${hex}`))
  expect(text(`6869${'00'.repeat(29)}04`)).toEqual(['"hi"'])
  expect(text('81'.padStart(64, '0'))).toEqual(['64 bytes'])
})

it('broken or too large files are the only ones that are lost', () => {
  const set = setOf(
    '{',
    '[]',
    '{"_format":"hh-sol-build-info-1"}',
    '{"abi":{},"deployedBytecode":[]}',
    artifact('A', CODE),
    artifact('B', 'zz'),
  )
  expect(set.problems).toEqual([
    { file: '0.json', message: 'the file is no JSON' },
    { file: '2.json', message: 'the build-info has no id' },
  ])
  expect(set.contracts.map(({ name, runtime }) => [name, runtime !== undefined])).toEqual([
    ['A', true],
    ['B', false],
  ])
})

describe('the routes of the explorer', () => {
  const opened: Server[] = []
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-test-'))
  fs.writeFileSync(path.join(folder, 'A.json'), artifact('A', CODE))
  afterEach(async () => {
    for (const server of opened.splice(0)) await server.stop()
  })
  async function serve(flags: Record<string, string> = {}): Promise<string> {
    const { settings } = resolveSettings({ flags: new Map(Object.entries({ 'evm.http_port': '0', 'evm.ws_port': '0', ...flags })) })
    const core = fakeCore({ getCode: `"0x${CODE}"` })
    const dispatch = makeDispatch(rpcContext(core, settings), batchLimits(settings), () => undefined)
    const explorer = { core: () => core, mode: 'dev', version: 'hearth/test', baking: false } as const
    const server = await startServer(settings, dispatch, {
      report: () => undefined,
      explorer,
      artifacts: explorerArtifacts(settings, () => core),
    })
    opened.push(server)
    return server.httpUrl as string
  }
  const identify = (url: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(`${url}/_/identify`, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) })

  it('serves names and lines of the folders of the setting', async () => {
    const url = await serve({ 'evm.explorer_artifacts': folder })
    const answer = (await (await identify(url, { addresses: [ADDRESS] })).json()) as {
      addresses: Record<string, { name: string; id: string }[]>
    }
    expect(answer.addresses[ADDRESS]?.[0]).toMatchObject({ name: 'A', how: 'exact', signatures: ['function f()'] })
    const lines = await fetch(`${url}/_/source/${answer.addresses[ADDRESS]?.[0]?.id}`)
    expect(await lines.json()).toEqual({ name: 'A', files: [] })
  })

  it('refuses bad bodies, unknown ids, other hosts, no token', async () => {
    const url = await serve({ 'evm.explorer_artifacts': folder })
    const status = async (answer: Promise<Response>): Promise<number> => (await answer).status
    expect(await status(identify(url, { addresses: ['0x12'] }))).toBe(400)
    expect(await status(identify(url, { addresses: Array.from({ length: 257 }, () => ADDRESS) }))).toBe(400)
    expect(await status(identify(url, null, { 'content-type': 'text/plain' }))).toBe(415)
    expect(await status(identify(url, { creations: [`0x${'00'.repeat(1024 * 1024)}`] }))).toBe(413)
    for (const id of ['9-9', '..%2f..%2fetc%2fpasswd', '__proto__', '']) expect(await status(fetch(`${url}/_/source/${id}`))).toBe(404)
    expect(await status(identify(await serve(), { addresses: [ADDRESS] }))).toBe(404)
    const file = path.join(folder, 'tokens')
    fs.writeFileSync(file, 'a-token-of-the-test\n', { mode: 0o600 })
    const guarded = await serve({ 'evm.explorer_artifacts': folder, 'evm.auth_token_file': file })
    expect(await status(identify(guarded, {}))).toBe(401)
    expect(await status(identify(guarded, {}, { authorization: 'Bearer a-token-of-the-test' }))).toBe(200)
    fs.rmSync(file)
  })

  it('says at the start that a folder is none', () => {
    const { settings } = resolveSettings({ flags: new Map([['evm.explorer_artifacts', '/nowhere/out']]) })
    expect(() => explorerArtifacts(settings, () => undefined)).toThrow('evm.explorer_artifacts: /nowhere/out is no folder')
  })
})

it('a project is looked into by its own folders alone', async () => {
  const root = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-test-'))
  const put = (name: string, text: string): void => {
    fs.mkdirSync(path.dirname(path.join(root, name)), { recursive: true })
    fs.writeFileSync(path.join(root, name), text)
  }
  put('foundry.toml', '')
  put('out/A.sol/A.json', artifact('A', CODE))
  put('elsewhere/B.json', artifact('B', CODE))
  put('out/node_modules/C.json', artifact('C', CODE))
  const { addresses, contracts } = await new ArtifactFolders([root]).identify({ codes: new Map([[ADDRESS, `0x${CODE}`]]), creations: [] })
  expect([contracts, addresses[ADDRESS]?.map(({ name }) => name)]).toEqual([1, ['A']])
  fs.rmSync(root, { recursive: true })
})
