// Styles of the pages that are loaded later, beside their scripts: the first page does without
// them.

const TEXT = `
.source { overflow-x: auto; padding: 6px 0; font: 12px/1.6 var(--mono); }
.source-pane .source { max-height: 340px; overflow-y: auto; }
.sline { display: block; padding: 0 14px 0 0; white-space: pre; }
.sline .ln, .aline .ln { display: inline-block; width: 44px; padding-right: 12px; text-align: right; color: var(--faint); user-select: none; }
.sline.here { background: var(--accent-soft); }
.sline.here .ln { color: var(--accent); font-weight: 600; }
.sline mark { background: color-mix(in srgb, var(--accent) 28%, transparent); color: inherit; border-radius: 2px; }
p.said { padding: 8px 16px; }
.annotated { max-height: 70vh; overflow: auto; font: 12px/1.65 var(--mono); padding: 8px 0; }
.aline { display: grid; grid-template-columns: 84px 62px 44px minmax(0, 1fr); white-space: pre; }
.aline .num { font-size: 11.5px; padding-right: 8px; }
.aline .text { --part: 0; background: linear-gradient(90deg, color-mix(in srgb, var(--bar) calc(var(--part) * 55%), transparent), transparent 85%); }
button.plain { border: 0; padding: 0; background: none; color: var(--accent); cursor: pointer; font: 12.5px var(--mono); }
button.plain:hover { text-decoration: underline; }
.give { margin: 0 16px 16px; padding: 16px; border: 1px dashed var(--line-strong); border-radius: 8px; display: flex; flex-wrap: wrap; gap: 8px 12px; align-items: center; position: relative; }
.give p { flex-basis: 100%; color: var(--soft); }
.give label:focus-within { outline: 2px solid var(--accent); outline-offset: 1px; }
.problems { flex-basis: 100%; font-size: 12.5px; color: var(--warn); }
`

let isOn = false

/** Puts the styles on the page, once. */
export function useStyle(): void {
  if (isOn) return
  isOn = true
  const sheet = new CSSStyleSheet()
  sheet.replaceSync(TEXT)
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet]
}
