// One step, whole: the stack with what the opcode uses, memory, storage, return data.
import type { JSX } from 'preact'
import { memoryWritten, opcodeHint, stackUse } from '../../explore/index.ts'
import { grouped } from '../parts/format.ts'
import { Card, Copy, Empty, Foreign } from '../parts/small.tsx'
import { Bytes } from './detail.tsx'
import { wordOf } from './slots.ts'
import { MEMORY_MAX, type Step, type Whole } from './step-store.ts'
import { Word } from './words.tsx'

/** Items of the stack that are drawn; the EVM has 1,024. */
const STACK_SHOWN = 64

/** Bytes of a line of memory: as many as have room beside their characters. */
const LINE = 16
const EACH_LINE = new RegExp(`.{${2 * LINE}}`, 'g')

/** Bytes of a word. */
const WORD = 32

function Stack({ step }: { readonly step: Step }): JSX.Element {
  const stack = [...(step.stack ?? [])].reverse()
  const used = new Set(stackUse(step.op))
  return (
    <section>
      <h3>
        Stack <span class="faint">{grouped(stack.length)} items, the top first</span>
      </h3>
      {stack.length === 0 ? (
        <span class="faint">empty</span>
      ) : (
        <ol class="stack" data-testid="stack">
          {stack.slice(0, STACK_SHOWN).map((word, i) => (
            <li key={i} class={used.has(i) ? 'taken' : ''} data-taken={used.has(i)}>
              <span class="i">{i}</span>
              <span class="v">
                <Word word={word} />
              </span>
            </li>
          ))}
          {stack.length > STACK_SHOWN && <li class="faint">and {grouped(stack.length - STACK_SHOWN)} more</li>}
        </ol>
      )}
    </section>
  )
}

const printableByte = (code: number): string => (code >= 0x20 && code < 0x7f ? String.fromCharCode(code) : '·')

/** A line of memory with its written bytes marked. */
function MemoryLine({
  at,
  hex,
  written,
}: {
  readonly at: number
  readonly hex: string
  readonly written: readonly [number, number] | undefined
}): JSX.Element {
  const bytes = hex.match(/../g) ?? []
  const isWritten = (i: number): boolean => written !== undefined && at + i >= written[0] && at + i < written[0] + written[1]
  const first = bytes.findIndex((_, i) => isWritten(i))
  const last = bytes.findLastIndex((_, i) => isWritten(i))
  const parts = (list: readonly string[], between: string): JSX.Element =>
    first < 0 ? (
      <>{list.join(between)}</>
    ) : (
      <>
        {list.slice(0, first).join(between)}
        {first > 0 ? between : ''}
        <mark>{list.slice(first, last + 1).join(between)}</mark>
        {last + 1 < list.length ? between : ''}
        {list.slice(last + 1).join(between)}
      </>
    )
  return (
    <>
      <span class="at">{at.toString(16).padStart(4, '0')}</span>
      <span class="hex">{parts(bytes, '')}</span>
      <span class="ascii">
        {parts(
          bytes.map((byte) => printableByte(Number.parseInt(byte, 16))),
          '',
        )}
      </span>
    </>
  )
}

function Memory({ whole: { step, before } }: { readonly whole: Whole }): JSX.Element {
  const words = step.memory ?? []
  const lines =
    words
      .map((word) => word.slice(2))
      .join('')
      .match(EACH_LINE) ?? []
  // What the step before wrote in the same call is what is new.
  const written = before !== undefined && before.frame === step.frame ? memoryWritten(before.op, before.stack ?? []) : undefined
  return (
    <section>
      <h3>
        Memory <span class="faint">{grouped(step.memorySize ?? words.length * WORD)} bytes</span>
      </h3>
      {words.length === 0 ? (
        <span class="faint">empty</span>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keys.
        <div class="memory" data-testid="memory" tabIndex={0} role="group" aria-label="Memory">
          {lines.map((hex, i) => (
            <MemoryLine key={i} at={i * LINE} hex={hex} written={written} />
          ))}
        </div>
      )}
      {(step.memorySize ?? 0) > MEMORY_MAX && <p class="faint">the first {grouped(MEMORY_MAX)} bytes</p>}
    </section>
  )
}

const slotsOf = (storage: Readonly<Record<string, string>>): [string, string][] =>
  Object.entries(storage).map(([slot, value]) => [wordOf(slot), wordOf(value)])

interface Props {
  readonly whole: Whole | undefined
  /** The variable in a slot of the account that the step works on. */
  readonly nameOf: (slot: string) => string | undefined
}

/** A slot that the step reads or writes. */
function Slot({ slot, value, name }: { readonly slot: string; readonly value: string; readonly name: string | undefined }): JSX.Element {
  return (
    <>
      <dt>
        {name !== undefined && (
          <span class="slot-name" data-testid="step-slot">
            <Foreign text={name} />
          </span>
        )}
        <Word word={slot} decimal={false} />
      </dt>
      <dd>
        <Word word={value} />
      </dd>
    </>
  )
}

export function StepDetail({ whole, nameOf }: Props): JSX.Element {
  if (whole === undefined) {
    return (
      <Card className="detail" title="Step">
        <Empty title="Reading the step" />
      </Card>
    )
  }
  const { step } = whole
  const hint = opcodeHint(step.op)
  return (
    <Card
      className="detail"
      title={
        <>
          <span class="mono" data-testid="step-op" data-step={step.index}>
            {step.op}
          </span>{' '}
          <span class="faint">at {grouped(step.pc)}</span>
        </>
      }
      more={
        <span class="faint nowrap">
          {step.error === undefined ? `${grouped(step.gasCost)} gas` : <span class="bad">{step.error}</span>}
        </span>
      }
    >
      {hint !== undefined && (
        <p class="hint" data-testid="hint">
          {hint}
        </p>
      )}
      <Stack step={step} />
      {step.storage !== undefined && (
        <section>
          <h3>Storage</h3>
          <dl class="args-list">
            {slotsOf(step.storage).map(([slot, value]) => (
              <Slot key={slot} slot={slot} value={value} name={nameOf(slot)} />
            ))}
          </dl>
        </section>
      )}
      <Memory whole={whole} />
      {step.returnData !== undefined && step.returnData !== '0x' && (
        <section>
          <h3>
            Return data <Copy text={step.returnData} what="return data" />
          </h3>
          <Bytes data={step.returnData} what="return data" />
        </section>
      )}
      {step.refund !== undefined && (
        <section>
          <h3>Refund counter</h3>
          <span class="mono">{grouped(step.refund)}</span>
        </section>
      )}
    </Card>
  )
}
