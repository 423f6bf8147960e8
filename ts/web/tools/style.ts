// Styles of the pages that are loaded later, beside their scripts: the first page does without
// them.

const TEXT = `
.source { overflow-x: auto; padding: 6px 0; font: 12px/1.6 var(--mono); }
.source-pane { margin-bottom: 16px; }
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
.form { display: grid; grid-template-columns: repeat(auto-fill, minmax(300px, 1fr)); gap: 12px 16px; padding: 16px 16px 4px; }
.form label { display: flex; flex-direction: column; gap: 4px; font-size: 12px; color: var(--soft); min-width: 0; }
.form .wide { grid-column: 1 / -1; }
.form div.wide { display: flex; flex-direction: column; gap: 4px; font-size: 12px; color: var(--soft); min-width: 0; }
.form .editor { height: auto; padding: 0; overflow: hidden; }
.form .editor:focus-within { border-color: var(--accent); outline: 2px solid var(--accent); outline-offset: 1px; }
.form .field { color: var(--text); width: 100%; }
.form textarea.code { font-size: 12.5px; tab-size: 2; white-space: pre; overflow-x: auto; }
.form-end { display: flex; gap: 10px; align-items: center; padding: 12px 16px 16px; flex-wrap: wrap; }
.card > header select.field { height: 28px; max-width: 100%; }
.compare-said { padding: 10px 16px; color: var(--soft); border-bottom: 1px solid var(--line); }
.crow { display: grid; grid-template-columns: 28px minmax(0, 1fr) auto 90px; gap: 8px; align-items: center; height: 28px; padding: 0 16px; font-size: 12.5px; border-bottom: 1px solid var(--line); }
.crow .call, .crow .call .foreign { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; font-family: var(--mono); }
.crow .call a { text-decoration: underline; text-underline-offset: 2px; }
.crow .sign { font: 600 13px var(--mono); text-align: center; }
.crow .what { display: flex; gap: 4px; }
.crow.only-a { background: var(--bad-soft); }
.crow.only-b { background: var(--good-soft); }
.crow.only-a .sign { color: var(--bad); }
.crow.only-b .sign { color: var(--good); }
.crow.differs .sign { color: var(--warn); }
.tools { display: flex; gap: 8px; }
.dev-row { display: flex; flex-wrap: wrap; gap: 10px 18px; padding: 14px 16px; align-items: center; }
.dev-row form { display: flex; gap: 6px; align-items: center; }
.dev-row .field { width: 110px; }
.dev-row .field.address { width: 360px; max-width: 100%; }
.dline { display: grid; grid-template-columns: 64px 120px minmax(0, 1fr); height: 20px; padding: 0 16px; font: 12px/20px var(--mono); white-space: nowrap; overflow: hidden; }
.dline .ln { color: var(--faint); }
.dline.target { background: var(--accent-soft); }
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
