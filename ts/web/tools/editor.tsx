// The editor of tracers: CodeMirror in a shadow root, where its styles are sheets that the policy of
// the page allows.
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import { bracketMatching, HighlightStyle, indentOnInput, LRLanguage, syntaxHighlighting } from '@codemirror/language'
import { Annotation, EditorState, Prec } from '@codemirror/state'
import { EditorView, highlightActiveLine, highlightSpecialChars, keymap, lineNumbers } from '@codemirror/view'
import { tags } from '@lezer/highlight'
import { parser } from '@lezer/javascript'
import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'

const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword], color: 'var(--accent)' },
  { tag: [tags.string, tags.regexp], color: 'var(--good)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--warn)' },
  { tag: [tags.propertyName, tags.definition(tags.variableName)], color: 'var(--info)' },
  { tag: tags.comment, color: 'var(--faint)', fontStyle: 'italic' },
])

const look = EditorView.theme({
  '&': { color: 'var(--text)', fontSize: '12.5px', maxHeight: '480px' },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.5', overflow: 'auto' },
  '.cm-content': { caretColor: 'var(--text)', padding: '8px 0' },
  '.cm-gutters': { background: 'transparent', border: '0', color: 'var(--faint)' },
  '.cm-activeLine, .cm-activeLineGutter': { background: 'color-mix(in srgb, var(--accent) 6%, transparent)' },
  '&.cm-focused .cm-matchingBracket': { background: 'var(--accent-soft)' },
})

/** Marks a change that the page made. */
const fromPage = Annotation.define<boolean>()

export interface EditorProps {
  readonly value: string
  readonly label: string
  readonly testid: string
  readonly onChange: (value: string) => void
  /** Ctrl+Enter. */
  readonly onRun: () => void
}

/** Tab moves the focus on, as in every field: the editor is no trap for keys. */
export function Editor({ value, label, testid, onChange, onRun }: EditorProps): JSX.Element {
  const host = useRef<HTMLDivElement>(null)
  const view = useRef<EditorView | undefined>(undefined)
  /** Texts that were reported and did not come back as `value` yet. */
  const reported = useRef<string[]>([])
  const latest = useRef({ onChange, onRun })
  latest.current = { onChange, onRun }
  useEffect(() => {
    const element = host.current
    if (element === null) return
    const root = element.shadowRoot ?? element.attachShadow({ mode: 'open' })
    // The page sees only the host of the shadow root, and would take typed letters for its keys.
    const ownKeys = (event: KeyboardEvent): void => event.stopPropagation()
    element.addEventListener('keydown', ownKeys)
    const run = (): boolean => {
      latest.current.onRun()
      return true
    }
    const made = new EditorView({
      root,
      parent: root,
      state: EditorState.create({
        doc: value,
        extensions: [
          Prec.highest(keymap.of([{ key: 'Mod-Enter', run }])),
          keymap.of([...defaultKeymap, ...historyKeymap]),
          history(),
          lineNumbers(),
          highlightSpecialChars(),
          highlightActiveLine(),
          bracketMatching(),
          indentOnInput(),
          LRLanguage.define({ parser }).extension,
          syntaxHighlighting(colours),
          look,
          EditorView.contentAttributes.of({ 'aria-label': label, 'data-testid': testid }),
          EditorView.updateListener.of((update) => {
            if (!update.docChanged || update.transactions.some((one) => one.annotation(fromPage))) return
            const text = update.state.doc.toString()
            reported.current.push(text)
            latest.current.onChange(text)
          }),
        ],
      }),
    })
    view.current = made
    return () => {
      element.removeEventListener('keydown', ownKeys)
      made.destroy()
    }
  }, [])
  useEffect(() => {
    const made = view.current
    const before = made?.state.doc.toString()
    // More may have been typed by now: what the editor reported itself is no change of the page's.
    const at = reported.current.indexOf(value)
    reported.current.splice(0, at < 0 ? reported.current.length : at + 1)
    if (at < 0 && made !== undefined && before !== undefined && before !== value)
      made.dispatch({ changes: { from: 0, to: before.length, insert: value }, annotations: fromPage.of(true) })
  }, [value])
  return <div ref={host} class="field editor" />
}
