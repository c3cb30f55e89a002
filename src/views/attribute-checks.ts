import { getMetadataArgsStorage } from 'typeorm'
import { nearest } from '../naming/spelling.js'

/** The name of the function that the checks call. In development, it is a local of every template. */
export const CHECK = 'kitCheckAttribute'

/** A node of pug's syntax tree, as far as checks need it. */
interface Node {
  type: string
  line: number
  filename: string
  nodes?: Node[]
  block?: Node | null
  consequent?: Node
  alternate?: Node | null
  buffer?: boolean
  val?: unknown
  test?: unknown
  obj?: unknown
  attrs?: { val: unknown }[]
}

/**
 * Adds a check before each node of a template that reads a property of a variable (`= post.titel`), because a
 * template shows nothing for a property that does not exist.
 */
export function addChecks(node: Node): Node {
  if (node.nodes) node.nodes = node.nodes.flatMap((child) => [...checksOf(child), addChecks(child)])
  for (const child of [node.block, node.consequent, node.alternate]) if (child) addChecks(child)
  return node
}

function checksOf(node: Node): Node[] {
  // Code without output can be a part of a statement, like `- else`.
  const isCode = node.type === 'Code' && node.buffer
  const sources = [isCode && node.val, node.test, node.obj, ...(node.attrs ?? []).map(({ val }) => val)]
  return sources.flatMap((source) =>
    propertiesIn(source).map(([name, property]) => {
      const place = [name, property, node.filename, node.line].map((value) => JSON.stringify(value))
      const val = `if (typeof ${name} !== 'undefined' && typeof ${CHECK} === 'function') ${CHECK}(${name}, ${place.join()})`
      return { ...node, type: 'Code', val, buffer: false, attrs: [], block: null }
    }),
  )
}

/** The variables of an expression and their properties: `[['post', 'titel']]`. Without calls and strings. */
function propertiesIn(source: unknown): [name: string, property: string][] {
  if (typeof source !== 'string') return []
  const code = source.replaceAll(/'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|`(?:\\.|[^`\\])*`/g, "''")
  const found = code.matchAll(/(?<![\w$.)\]])([a-z_$][\w$]*)\??\.([a-z_$][\w$]*)(?![\w$])(?!\s*\()/gi)
  return [...found].map(([, name = '', property = '']) => [name, property])
}

/** Explains that a model lacks a property; undefined for other objects, which often lack some. */
export function missingAttribute(record: unknown, name: string, property: string): string | undefined {
  if (typeof record !== 'object' || record === null || property in record) return undefined
  const attributes = attributesOf(record.constructor)
  if (!attributes || attributes.includes(property)) return undefined
  const similar = nearest(property, [...attributes, ...Object.keys(record)])
  const hint = similar ? ` Did you mean ${name}.${similar}?` : ''
  return `${record.constructor.name} has no attribute "${property}".${hint}`
}

/** The columns and relations of a model, which a record may lack; undefined for another class. */
function attributesOf(target: Function): string[] | undefined {
  const { tables, columns, relations, embeddeds, relationIds } = getMetadataArgsStorage()
  if (!tables.some((table) => table.target === target)) return undefined
  const isOf = (owner: unknown) =>
    typeof owner === 'function' && (owner === target || target.prototype instanceof owner)
  return [...columns, ...relations, ...embeddeds, ...relationIds].flatMap((property) =>
    isOf(property.target) ? property.propertyName : [],
  )
}
