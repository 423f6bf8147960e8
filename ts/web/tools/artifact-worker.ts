// Reads the artifacts that the reader gave and compares codes with them, in a worker: a project of
// a gigabyte keeps no page from drawing. Nothing of it leaves the browser.
import {
  ArtifactSet,
  type ContractAnswer,
  FILE_BYTES_MAX,
  FILES_MAX,
  type FindSource,
  layoutJson,
  type Match,
  type Problem,
  READ_BYTES_MAX,
  type SourceAnswer,
  sourceAnswer,
} from '../../explore/artifacts/index.ts'

/** Bytes of a source that is kept. */
const SOURCE_BYTES_MAX = 8 * 1024 * 1024

/** A file with its path within the folder. */
export interface Given {
  readonly path: string
  readonly file: File
}

/** What the artifacts are: contracts, and files that were passed over. */
export interface Known {
  readonly contracts: number
  readonly problems: readonly Problem[]
}

/** Requests by kind, with what answers each. */
export interface Requests {
  readonly give: { readonly of: readonly Given[]; readonly answer: Known }
  readonly match: {
    readonly of: { readonly codes: readonly string[]; readonly creations: readonly string[] }
    readonly answer: { readonly codes: readonly (readonly ContractAnswer[])[]; readonly creations: readonly (readonly ContractAnswer[])[] }
  }
  readonly source: { readonly of: number; readonly answer: SourceAnswer | undefined }
}

/** A request as it is sent. */
export interface Message {
  readonly id: number
  readonly kind: keyof Requests
  readonly of: unknown
}

const set = new ArtifactSet()
const sources = new Map<string, string>()

const isSource = (path: string): boolean => /\.(sol|vy|yul)$/.test(path)

async function give(files: readonly Given[]): Promise<Known> {
  let bytes = 0
  for (const { path, file } of files.slice(0, FILES_MAX)) {
    const most = isSource(path) ? SOURCE_BYTES_MAX : FILE_BYTES_MAX
    if (file.size > most) set.refuse(path, `the file has ${file.size} bytes, at most ${most} are read`)
    else if (bytes + file.size > READ_BYTES_MAX) set.refuse(path, `${READ_BYTES_MAX} bytes of artifacts are read already`)
    else {
      bytes += file.size
      const text = await file.text()
      if (isSource(path)) sources.set(path, text)
      else set.add(path, text)
    }
  }
  if (files.length > FILES_MAX) set.refuse('', `${files.length - FILES_MAX} files more than ${FILES_MAX} are passed over`)
  return { contracts: set.contracts.length, problems: set.problems }
}

/** The source of a path among the files that the reader gave. */
const find: FindSource = (path) => {
  const known = sources.get(path)
  if (known !== undefined) return known
  for (const [name, text] of sources) if (name.endsWith(`/${path}`)) return text
  return undefined
}

const answerOf = ({ contract: { id, name, source, signatures, layout }, how }: Match): ContractAnswer => ({
  id: String(id),
  name,
  source,
  how,
  signatures,
  ...(layout === undefined ? {} : { layout: layoutJson(layout) }),
})

async function answer({ kind, of }: Message): Promise<unknown> {
  if (kind === 'give') return await give(of as Requests['give']['of'])
  if (kind === 'match') {
    const { codes, creations } = of as Requests['match']['of']
    return {
      codes: codes.map((code) => set.matchRuntime(code).map(answerOf)),
      creations: creations.map((data) => set.matchCreation(data).map(answerOf)),
    }
  }
  const contract = set.contracts[of as number]
  return contract === undefined ? undefined : sourceAnswer(contract, find)
}

const scope = self as unknown as { readonly postMessage: (value: unknown) => void }

self.addEventListener('message', ({ data }: MessageEvent<Message>) => {
  answer(data).then(
    (value) => scope.postMessage({ id: data.id, value }),
    (e: unknown) => scope.postMessage({ id: data.id, error: e instanceof Error ? e.message : String(e) }),
  )
})
