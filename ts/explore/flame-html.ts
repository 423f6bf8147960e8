// A flame as one HTML file that needs nothing else: it zooms and finds names, and its policy allows
// its own script and style alone.
import { Base64, Bytes, Hash } from 'ox'
import type { Boxes } from './boxes.ts'

/** Boxes of one file; of larger flames the widest. */
export const HTML_BOXES_MAX = 100_000

const STYLE = `:root{color-scheme:light dark}body{margin:0;padding:16px;font:13px/1.4 ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace;background:Canvas;color:CanvasText}
h1{font-size:14px;margin:0 0 10px;overflow-wrap:anywhere}#bar{display:flex;gap:8px;margin-bottom:8px}input{flex:1;font:inherit;padding:4px 8px}button{font:inherit}
#flame{position:relative;overflow:hidden}#flame button{position:absolute;height:18px;box-sizing:border-box;border:0;border-right:1px solid Canvas;padding:0 3px;font:11px/18px inherit;font-family:inherit;text-align:left;white-space:nowrap;overflow:hidden;cursor:pointer;color:#1a1612}
#flame button.failed{border-left:3px solid #b3211b}#flame button.faint{opacity:.25}#flame button:focus-visible{outline:2px solid #1a1612;outline-offset:-2px}#said{min-height:1.4em;margin-top:8px;overflow-wrap:anywhere}`

const SCRIPT = `'use strict';
const d=JSON.parse(document.getElementById('data').textContent),flame=document.getElementById('flame'),said=document.getElementById('said'),find=document.getElementById('find'),all=document.getElementById('all');
const ROW=18,NARROWEST=0.5;let from=0,to=d.total;
const group=n=>String(Math.round(n)).replace(/\\B(?=(\\d{3})+$)/g,',');
const hue=s=>{let h=0;for(let i=0;i<s.length;i++)h=(h*31+s.charCodeAt(i))%360;return h};
const text=i=>d.names[d.name[i]]+': '+group(d.width[i])+' gas ('+(100*d.width[i]/d.total).toFixed(1)+' %), '+group(d.own[i])+' of its own'+(d.failed[i]?', failed':'');
function draw(){const w=flame.clientWidth,scale=w/(to-from),sought=find.value.trim().toLowerCase();flame.replaceChildren();
for(let i=0;i<d.x.length;i++){const x=(d.x[i]-from)*scale,wide=d.width[i]*scale;if(wide<NARROWEST||x>=w||x+wide<=0)continue;
const b=document.createElement('button'),n=d.names[d.name[i]],left=Math.max(0,x);b.type='button';b.className=(d.failed[i]?'failed':'')+(sought&&!n.toLowerCase().includes(sought)?' faint':'');
b.style.left=left+'px';b.style.width=Math.max(1,Math.min(w,x+wide)-left)+'px';b.style.top=d.depth[i]*ROW+'px';b.style.background='hsl('+hue(n.split('::')[0])+' 60% 76%)';
if(wide>24)b.textContent=n;b.setAttribute('aria-label',text(i));
b.onmouseenter=b.onfocus=()=>{said.textContent=text(i)};b.onclick=()=>{from=d.x[i];to=d.x[i]+d.width[i];all.disabled=false;draw()};flame.append(b)}}
flame.style.height=(d.deepest+1)*ROW+'px';
all.onclick=()=>{from=0;to=d.total;all.disabled=true;draw()};find.oninput=draw;addEventListener('resize',draw);addEventListener('keydown',e=>{if(e.key==='Escape')all.onclick()});draw();`

const hashOf = (text: string): string => `'sha256-${Base64.fromBytes(Hash.sha256(Bytes.fromString(text), { as: 'Bytes' }))}'`

const escaped = (text: string): string => text.replace(/[<>&"']/g, (c) => `&#${c.charCodeAt(0)};`)

/** The boxes that fit a file, in their order. */
function shownOf({ count, width }: Boxes): number[] {
  const all = Array.from({ length: count }, (_, i) => i)
  if (count <= HTML_BOXES_MAX) return all
  const widest = all.sort((a, b) => (width[b] as number) - (width[a] as number)).slice(0, HTML_BOXES_MAX)
  return widest.sort((a, b) => a - b)
}

/** The file. Data of contracts is JSON without `<`, which no HTML ends. */
export function flameHtml(boxes: Boxes, title: string): string {
  const shown = shownOf(boxes)
  const pick = (list: { readonly [i: number]: number }): number[] => shown.map((i) => Math.round((list[i] as number) * 100) / 100)
  const data = {
    total: boxes.total,
    deepest: boxes.deepest,
    names: boxes.names,
    name: pick(boxes.name),
    x: pick(boxes.x),
    width: pick(boxes.width),
    depth: pick(boxes.depth),
    own: pick(boxes.own),
    failed: pick(boxes.failed),
  }
  const omitted = boxes.count - shown.length
  const json = JSON.stringify(data).replaceAll('<', '\\u003c')
  const policy = `default-src 'none'; script-src ${hashOf(SCRIPT)}; style-src ${hashOf(STYLE)}; base-uri 'none'; form-action 'none'`
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width"><title>${escaped(title)}</title><style>${STYLE}</style></head>
<body><h1><bdi>${escaped(title)}</bdi></h1>
<div id="bar"><input id="find" aria-label="Find a name" placeholder="Find a contract or function"><button id="all" type="button" disabled>Show all</button></div>
<div id="flame"></div><div id="said" aria-live="polite">${omitted === 0 ? '' : `${omitted} narrow boxes are left out`}</div>
<script type="application/json" id="data">${json}</script>
<script>${SCRIPT}</script></body></html>
`
}
