// The reader's own artifacts: a folder of Foundry or Hardhat that is chosen or dropped. Nothing of
// it is sent anywhere.
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { FILES_MAX, mayBeArtifact, type Problem } from '../../explore/artifacts/index.ts'
import { grouped } from '../parts/format.ts'
import { Foreign } from '../parts/small.tsx'
import { given } from '../tx/contracts.ts'
import type { Given } from './artifact-worker.ts'
import { giveArtifacts } from './own-artifacts.ts'
import { useStyle } from './style.ts'

/** Problems that are listed. */
const PROBLEMS_SHOWN = 10

const isSource = (path: string): boolean => /\.(sol|vy|yul)$/.test(path)
const isWanted = (path: string): boolean => !/(^|\/)(node_modules|\.git)\//.test(path) && (isSource(path) || mayBeArtifact(path))

/** The files of what was dropped, folders included. */
async function dropped(items: DataTransferItemList): Promise<Given[]> {
  const files: Given[] = []
  const waiting = [...items].flatMap((item) => item.webkitGetAsEntry() ?? [])
  for (let entry = waiting.pop(); entry !== undefined && files.length <= FILES_MAX; entry = waiting.pop()) {
    const path = entry.fullPath.replace(/^\//, '')
    if (entry.isFile) {
      if (!isWanted(path)) continue
      const one = entry as FileSystemFileEntry
      files.push({ path, file: await new Promise<File>((resolve, reject) => one.file(resolve, reject)) })
    } else if (!/(^|\/)(node_modules|\.git)$/.test(path)) {
      const reader = (entry as FileSystemDirectoryEntry).createReader()
      // A browser gives the entries in portions, an empty one at the end.
      for (;;) {
        const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject))
        if (some.length === 0 || waiting.length > FILES_MAX) break
        waiting.push(...some)
      }
    }
  }
  return files
}

export function GiveArtifacts({ problems = [] }: { readonly problems?: readonly Problem[] }): JSX.Element {
  useStyle()
  const [said, setSaid] = useState<string>()
  const [own, setOwn] = useState<readonly Problem[]>([])
  const take = async (gather: () => Promise<readonly Given[]>): Promise<void> => {
    setSaid('Reading …')
    try {
      const files = await gather()
      const { contracts: count, problems: passed } = await giveArtifacts(files)
      setOwn(passed)
      setSaid(
        count === 0
          ? 'There is no artifact in it: choose out of Foundry, artifacts of Hardhat, or the project that has one'
          : `${grouped(count)} contracts of ${grouped(files.length)} files`,
      )
      given.value++
    } catch (e) {
      setSaid(e instanceof Error ? e.message : String(e))
    }
  }
  const all = [...problems, ...own]
  return (
    <section
      class="give"
      data-testid="give-artifacts"
      aria-label="Artifacts"
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault()
        const { dataTransfer } = event
        if (dataTransfer !== null) void take(() => dropped(dataTransfer.items))
      }}
    >
      <p>
        Start the node with <code>hearth dev --artifacts out</code> (setting <code>evm.explorer_artifacts</code>), or choose the project’s
        folder here, or drop it: it stays in this browser.
      </p>
      <label class="button">
        Choose a folder
        <input
          type="file"
          class="hidden"
          multiple
          {...{ webkitdirectory: true }}
          data-testid="artifacts-input"
          onChange={(event) => {
            const files = [...(event.currentTarget.files ?? [])]
            void take(async () =>
              files.flatMap((file) => {
                const path = file.webkitRelativePath || file.name
                return isWanted(path) ? [{ path, file }] : []
              }),
            )
          }}
        />
      </label>
      {said !== undefined && (
        <span role="status" data-testid="artifacts-said">
          {said}
        </span>
      )}
      {all.length > 0 && (
        <ul class="problems" data-testid="artifact-problems">
          {all.slice(0, PROBLEMS_SHOWN).map(({ file, message }) => (
            <li key={`${file} ${message}`}>
              <Foreign text={`${file}: ${message}`} />
            </li>
          ))}
          {all.length > PROBLEMS_SHOWN && <li>and {grouped(all.length - PROBLEMS_SHOWN)} more</li>}
        </ul>
      )}
    </section>
  )
}
