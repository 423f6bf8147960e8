// The step of the bundler that loads external modules at their first use.
import { describe, expect, it } from 'vitest'
import { lazyExternals } from '../../ts/cli/lazy-externals.ts'

/** Runs code with modules that say when they are loaded; gives what it returns. */
function run(code: string): unknown {
  const loaded: string[] = []
  const require = (name: string): unknown => {
    loaded.push(name)
    return { name, Class: class {}, call: (value: unknown) => `${name} ${value}` }
  }
  const toEsm = (value: object): unknown => ({ default: value, ...value })
  return new Function('require', '__toESM', 'loaded', `${code}\nreturn result`)(require, toEsm, loaded)
}

const REQUIRES = 'let node_a = require("node:a");\nnode_a = __toESM(node_a, 1);\nlet node_b = require("node:b");\n'

describe('external modules', () => {
  it('are loaded at their first use, once', () => {
    const code = `${REQUIRES}const before = [...loaded];\nconst said = [(0, node_a.call)(1), node_a.default.name];\nconst result = [before, said, [...loaded]];`
    expect(run(lazyExternals(code))).toEqual([[], ['node:a 1', 'node:a'], ['node:a']])
    expect(run(code)).toEqual([
      ['node:a', 'node:b'],
      ['node:a 1', 'node:a'],
      ['node:a', 'node:b'],
    ])
  })

  it('are used in calls, by new, in templates, as computed members', () => {
    const code = `${REQUIRES}const key = { node_a: "call" };\nconst result = [new node_b.Class() instanceof node_b.Class, \`\${node_a[key.node_a](2)}\`, "node_a.call"];`
    expect(run(lazyExternals(code))).toEqual([true, 'node:a 2', 'node_a.call'])
  })

  it('leave other statements as they are', () => {
    const code = 'let own = call("node:a");\nlet x = 1, y = 2;\nconst fixed = require("node:c");\n'
    expect(lazyExternals(code)).toBe(code)
  })

  it.each([
    ['a use without a member', 'const all = { ...node_a };'],
    ['a shorthand property', 'const all = { node_a };'],
    ['a variable of the same name', '{ const node_a = 1; }'],
    ['an assignment', 'node_b = undefined;'],
  ])('are refused with %s', (_, statement) => {
    expect(() => lazyExternals(`${REQUIRES}${statement}`)).toThrow(/^node_[ab] is used without a member$/)
  })
})
