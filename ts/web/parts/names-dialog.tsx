// Labels and signatures that the reader gives. They stay in this browser: nothing of a file is
// ever sent.
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { printable } from '../../explore/index.ts'
import { giveNames, given, signaturesOfFile } from '../store/names.ts'

/** Largest file that is read, in bytes. */
const FILE_BYTES_MAX = 32 * 1024 * 1024

export function NamesDialog(): JSX.Element {
  const [labels, setLabels] = useState(given.value.labels)
  const [signatures, setSignatures] = useState(given.value.signatures)
  const [said, setSaid] = useState<string>()
  const attempt = (work: () => string): void => {
    try {
      setSaid(work())
    } catch (e) {
      setSaid(e instanceof Error ? e.message : String(e))
    }
  }
  const read = async (files: FileList | null): Promise<void> => {
    const file = files?.[0]
    if (file === undefined) return
    if (file.size > FILE_BYTES_MAX) {
      setSaid(`${file.name} is larger than 32 MiB`)
      return
    }
    const text = await file.text()
    attempt(() => {
      const found = signaturesOfFile(text)
      setSignatures(`${signatures}${signatures === '' || signatures.endsWith('\n') ? '' : '\n'}${found.join('\n')}\n`)
      return `${found.length} signatures read: press Use to take them`
    })
  }
  return (
    <>
      <p class="soft">Names for addresses, functions, errors and events. They stay in this browser; nothing of them is sent.</p>
      <label>
        <h3>Labels</h3>
        <textarea
          class="field"
          rows={4}
          placeholder="0x6b175474e89094c44da98b954eedeac495271d0f DAI"
          value={labels}
          onInput={(event) => setLabels(event.currentTarget.value)}
          data-testid="labels"
        />
      </label>
      <label>
        <h3>Signatures</h3>
        <textarea
          class="field"
          rows={7}
          placeholder={
            'function transfer(address to, uint256 amount)\nerror TooMuch(uint256 wanted)\nevent Paid(address indexed by, uint256 amount)'
          }
          value={signatures}
          onInput={(event) => setSignatures(event.currentTarget.value)}
          data-testid="signatures"
        />
      </label>
      <label>
        <h3>An ABI, or an artifact of Foundry or Hardhat</h3>
        <input
          type="file"
          accept=".json,.abi,.txt,application/json"
          onChange={(event) => void read(event.currentTarget.files)}
          data-testid="abi-file"
        />
      </label>
      <div>
        <button
          type="button"
          class="button main"
          data-testid="use-names"
          onClick={() =>
            attempt(() => {
              giveNames({ labels, signatures })
              return 'Used from now on'
            })
          }
        >
          Use
        </button>
      </div>
      {said !== undefined && (
        <div class="note info" role="status">
          {printable(said)}
        </div>
      )}
    </>
  )
}
