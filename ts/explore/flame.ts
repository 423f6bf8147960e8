// Gas of frames as flames: collapsed stacks, speedscope's format, and an SVG without scripts.
import type { Names } from './names.ts'
import { type Frame, isCreation } from './tree.ts'

/** The name of a frame in a flame: what is called, without arguments. */
export function flameName({ kind, to, input }: Frame, names: Names): string {
  if (isCreation(kind)) return kind
  const called = names.call(input).replace(/\(.*$/s, '')
  return `${to === undefined ? '?' : names.address(to)}${called === '' ? '' : `::${called}`}`
}

/** A stack and the gas of its last frame alone. */
interface Stack {
  readonly names: readonly string[]
  readonly gas: number
}

/** The stacks of trees in order. */
function* stacks(tops: readonly Frame[], names: Names): Generator<Stack, void> {
  const waiting: { frame: Frame; above: readonly string[] }[] = [...tops].reverse().map((frame) => ({ frame, above: [] }))
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { frame, above } = next
    const stack = [...above, flameName(frame, names)]
    if (frame.ownGas > 0) yield { names: stack, gas: frame.ownGas }
    for (let i = frame.calls.length - 1; i >= 0; i--) waiting.push({ frame: frame.calls[i] as Frame, above: stack })
  }
}

/**
 * Collapsed stacks in the format of flamegraph.pl and speedscope: `a;b;c GAS`, equal stacks
 * together.
 */
export function folded(tops: readonly Frame[], names: Names): string {
  const sums = new Map<string, number>()
  for (const { names: stack, gas } of stacks(tops, names)) {
    const key = stack.map((name) => name.replaceAll(';', ':')).join(';')
    sums.set(key, (sums.get(key) ?? 0) + gas)
  }
  return [...sums].map(([stack, gas]) => `${stack} ${gas}\n`).join('')
}

/** speedscope's file format; gas has no unit there. */
export function speedscope(tops: readonly Frame[], names: Names, title: string): string {
  const indexes = new Map<string, number>()
  const samples: number[][] = []
  const weights: number[] = []
  for (const { names: stack, gas } of stacks(tops, names)) {
    samples.push(
      stack.map((name) => {
        const index = indexes.get(name) ?? indexes.size
        indexes.set(name, index)
        return index
      }),
    )
    weights.push(gas)
  }
  const endValue = weights.reduce((sum, gas) => sum + gas, 0)
  return JSON.stringify({
    $schema: 'https://www.speedscope.app/file-format-schema.json',
    exporter: 'hearth',
    name: title,
    activeProfileIndex: 0,
    shared: { frames: [...indexes.keys()].map((name) => ({ name })) },
    profiles: [{ type: 'sampled', name: title, unit: 'none', startValue: 0, endValue, samples, weights }],
  })
}

const [WIDTH, ROW, TEXT_WIDTH] = [1200, 18, 6.6]

/** Narrower frames are not drawn, in pixels. */
const NARROWEST = 0.5

const escaped = (text: string): string => text.replace(/[<>&"']/g, (c) => `&#${c.charCodeAt(0)};`)

/** A colour of its own for a name, the same in every picture. */
export function hue(name: string): number {
  let hash = 0
  for (let i = 0; i < name.length; i++) hash = (hash * 31 + name.charCodeAt(i)) % 360
  return hash
}

/** A picture: each frame as wide as the gas that it and its calls used, failed ones outlined. */
export function flameSvg(tops: readonly Frame[], names: Names, title: string): string {
  const all = tops.reduce((sum, top) => sum + top.gasUsed, 0) || 1
  const boxes: string[] = []
  let deepest = 0
  const waiting: { frame: Frame; x: number; width: number }[] = []
  let x = 0
  for (const top of tops) {
    const width = (WIDTH * top.gasUsed) / all
    waiting.push({ frame: top, x, width })
    x += width
  }
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { frame, x, width } = next
    if (width < NARROWEST) continue
    deepest = Math.max(deepest, frame.depth)
    const name = flameName(frame, names)
    const y = ROW * (frame.depth + 1)
    const shown = Math.floor(width / TEXT_WIDTH)
    const label = name.length <= shown ? name : shown > 3 ? `${name.slice(0, shown - 1)}…` : ''
    const facts = `${name}: ${frame.gasUsed} gas, ${frame.ownGas} of its own${frame.error === undefined ? '' : ', failed'}`
    const stroke = frame.error === undefined ? '#fff' : '#c00'
    boxes.push(
      `<g><title>${escaped(facts)}</title><rect x="${x.toFixed(2)}" y="${y}" width="${width.toFixed(2)}" height="${ROW - 1}" fill="hsl(${hue(name)} 60% 78%)" stroke="${stroke}"/>` +
        `${label === '' ? '' : `<text x="${(x + 3).toFixed(2)}" y="${y + 13}">${escaped(label)}</text>`}</g>`,
    )
    // The sum of the calls may exceed the frame's own gas: no frame is wider than the one above it.
    const below = frame.calls.reduce((sum, call) => sum + call.gasUsed, 0)
    const scale = width / Math.max(1, frame.gasUsed, below)
    let at = x
    for (const call of frame.calls) {
      waiting.push({ frame: call, x: at, width: call.gasUsed * scale })
      at += call.gasUsed * scale
    }
  }
  const height = ROW * (deepest + 2)
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="monospace" font-size="11">` +
    `<text x="3" y="13">${escaped(title)}</text>${boxes.join('')}</svg>\n`
  )
}
