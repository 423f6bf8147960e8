// The artifacts that the reader gave: a worker that has them, and requests to it.
import type { ContractAnswer, Problem, SourceAnswer } from '../../explore/artifacts/index.ts'
import type { Given, Known, Requests } from './artifact-worker.ts'

/** The script of the worker, which the build names. */
const SCRIPT = document.querySelector('meta[name="hearth-worker"]')?.getAttribute('content') ?? ''

interface Policy {
  readonly createScriptURL: (url: string) => string
}

/** The one policy of the page (Trusted Types): it knows one script, whatever is requested. */
const policy = (globalThis as { trustedTypes?: { createPolicy: (name: string, rules: Policy) => Policy } }).trustedTypes?.createPolicy(
  'hearth',
  { createScriptURL: () => SCRIPT },
)

interface Waiting {
  readonly resolve: (value: never) => void
  readonly reject: (error: Error) => void
}

/** Artifacts of one folder. A folder that is given after it replaces it. */
class OwnArtifacts {
  readonly generation: number
  known: Known = { contracts: 0, problems: [] }
  private readonly worker = new Worker(policy?.createScriptURL('') ?? SCRIPT, { type: 'module' })
  private readonly waiting = new Map<number, Waiting>()
  private lastId = 0

  constructor(generation: number) {
    this.generation = generation
    this.worker.addEventListener('message', ({ data }: MessageEvent<{ id: number; value?: never; error?: string }>) => {
      const waiting = this.waiting.get(data.id)
      this.waiting.delete(data.id)
      if (data.error === undefined) waiting?.resolve(data.value as never)
      else waiting?.reject(new Error(data.error))
    })
    this.worker.addEventListener('error', ({ message }) => this.end(`the artifacts could not be read: ${message || 'no worker starts'}`))
  }

  request<K extends keyof Requests>(kind: K, of: Requests[K]['of']): Promise<Requests[K]['answer']> {
    const id = ++this.lastId
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject })
      this.worker.postMessage({ id, kind, of })
    })
  }

  end(why: string): void {
    this.worker.terminate()
    for (const { reject } of this.waiting.values()) reject(new Error(why))
    this.waiting.clear()
  }
}

let own: OwnArtifacts | undefined
let generations = 0

/** Beginning of the ids of contracts of the reader. */
const OWN = 'own-'

/** Takes the files of a folder in place of those before. */
export async function giveArtifacts(files: readonly Given[]): Promise<Known> {
  own?.end('another folder was chosen')
  own = new OwnArtifacts(++generations)
  const given = own
  given.known = await given.request('give', files)
  return given.known
}

/** How many contracts the reader's artifacts have, and files that were passed over. */
export const ownKnown = (): { readonly contracts: number; readonly problems: readonly Problem[] } =>
  own?.known ?? { contracts: 0, problems: [] }

/** Contracts of codes and of creation data. */
export async function matchOwn(codes: readonly string[], creations: readonly string[]): Promise<Requests['match']['answer']> {
  const from = own
  if (from === undefined) return { codes: codes.map(() => []), creations: creations.map(() => []) }
  const named = (all: readonly (readonly ContractAnswer[])[]): ContractAnswer[][] =>
    all.map((some) => some.map((contract) => ({ ...contract, id: `${OWN}${from.generation}-${contract.id}` })))
  const found = await from.request('match', { codes, creations })
  return { codes: named(found.codes), creations: named(found.creations) }
}

export const isOwn = (id: string): boolean => id.startsWith(OWN)

/** What lines of a contract need; undefined where another folder was given since. */
export async function ownSource(id: string): Promise<SourceAnswer | undefined> {
  const [generation, number] = id.slice(OWN.length).split('-').map(Number)
  return own === undefined || own.generation !== generation ? undefined : await own.request('source', number as number)
}
