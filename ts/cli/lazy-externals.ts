// A step of the bundler: external modules are loaded at their first use. Most starts need few of
// Node's modules, and each takes up to two milliseconds.
import type { Plugin } from 'rolldown'
import { parseAst } from 'rolldown/parseAst'

/** A node of a syntax tree (ESTree), with its place in the code. */
interface SyntaxNode {
  readonly type: string
  readonly start: number
  readonly end: number
}

/** A part of the code, and what stands there in its place. */
interface Edit {
  readonly start: number
  readonly end: number
  readonly text: string
}

/** The code cannot be changed safely: the bundler writes something else than this step knows. */
class UnknownShape extends Error {}

// biome-ignore lint/suspicious/noExplicitAny: members depend on the type of a node.
type Members = SyntaxNode & Record<string, any>

const isNode = (value: unknown): value is Members => typeof value === 'object' && value !== null && 'type' in value

/** The nodes directly below one, in no particular order. */
const below = (node: Members): Members[] =>
  Object.values(node)
    .flatMap((value) => (Array.isArray(value) ? value : [value]))
    .filter(isNode)

/** `let NAME = require("MODULE")`: the name and the module; undefined for any other statement. */
function required(statement: Members): readonly [name: string, module: string] | undefined {
  if (statement.type !== 'VariableDeclaration' || statement.kind !== 'let' || statement.declarations.length !== 1) return undefined
  const [{ id, init }] = statement.declarations
  if (init?.type !== 'CallExpression' || init.callee.name !== 'require' || init.arguments[0]?.type !== 'Literal') return undefined
  return [id.name, init.arguments[0].value]
}

/** Whether a statement is `NAME = __toESM(NAME, …)`. */
const isInterop = (statement: Members | undefined, name: string): boolean =>
  statement?.type === 'ExpressionStatement' &&
  statement.expression.type === 'AssignmentExpression' &&
  statement.expression.left.name === name &&
  statement.expression.right.callee?.name === '__toESM'

/**
 * The uses of names below a node, each within parentheses for `new`. Throws where a name is used in
 * any other way than `NAME.member`.
 */
function uses(node: Members, names: ReadonlyMap<string, string>, edits: Edit[]): void {
  if (node.type === 'Identifier' && names.has(node.name)) throw new UnknownShape(`${node.name} is used without a member`)
  const { object, property, key } = node
  if (node.type === 'MemberExpression' && object.type === 'Identifier' && names.has(object.name)) {
    edits.push({ start: object.start, end: object.end, text: `(${names.get(object.name)}())` })
    if (node.computed) uses(property, names, edits)
    return
  }
  // The name of a member is no use of a variable, and a shorthand property has its value too.
  const named = node.computed ? undefined : node.type === 'MemberExpression' ? property : key
  for (const child of below(node)) if (child !== named) uses(child, names, edits)
}

/** The code with the external modules loaded at their first use. */
export function lazyExternals(code: string): string {
  const { body } = parseAst(code) as unknown as { readonly body: Members[] }
  const names = new Map<string, string>()
  const edits: Edit[] = []
  const rest: Members[] = []
  for (let i = 0; i < body.length; i++) {
    const statement = body[i] as Members
    const [name, module] = required(statement) ?? []
    if (name === undefined || module === undefined) {
      rest.push(statement)
      continue
    }
    const following = body[i + 1]
    const { end } = isInterop(following, name) ? (body[++i] as Members) : statement
    names.set(name, `${name}$`)
    const text = `let ${name};\nconst ${name}$ = () => (${name} ??= __toESM(require(${JSON.stringify(module)}), 1));`
    edits.push({ start: statement.start, end, text })
  }
  for (const statement of rest) uses(statement, names, edits)
  edits.sort((a, b) => a.start - b.start)
  let written = ''
  let at = 0
  for (const { start, end, text } of edits) {
    written += code.slice(at, start) + text
    at = end
  }
  return written + code.slice(at)
}

/** The step, for rolldown. */
export const lazyExternalsPlugin: Plugin = { name: 'lazy-externals', renderChunk: (code) => lazyExternals(code) }
