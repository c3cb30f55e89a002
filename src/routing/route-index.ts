import type { PathPattern } from './path.js'

/** What the index holds: something of a route, whose place in the order of declaration counts. */
export interface Indexed {
  route: { order: number }
}

interface Node<Entry> {
  /** By the text of the segment. */
  children: Map<string, Node<Entry>>
  /** Beneath a segment that has a parameter in it. */
  parameter: Node<Entry> | undefined
  /** What ends here. */
  entries: Entry[]
  /** What takes the rest of the path from here. */
  rest: Entry[]
}

/**
 * A tree over the segments of paths, so that finding the routes that may match a request costs as much as its path is
 * long, however many routes there are. Whether a candidate really matches is for @koa/router to say.
 */
export class RouteIndex<Entry extends Indexed> {
  private readonly root: Node<Entry> = emptyNode()

  /** Files an entry under its path. */
  add(pattern: PathPattern, entry: Entry): void {
    let node = this.root
    for (const tokens of pattern.segments) {
      if (tokens.some((token) => token.kind === 'rest')) {
        node.rest.push(entry)
        return
      }
      const [first] = tokens
      if (tokens.length === 1 && first?.kind === 'text') node = childOf(node, encodeURIComponent(first.text))
      else node = node.parameter ??= emptyNode()
    }
    node.entries.push(entry)
  }

  /** The entries whose path may match, in the order of declaration. */
  candidates(path: string): Entry[] {
    const found: Entry[] = []
    collect(this.root, path === '/' ? [] : path.slice(1).split('/'), 0, found)
    return found.length > 1 ? found.toSorted((a, b) => a.route.order - b.route.order) : found
  }
}

function collect<Entry>(node: Node<Entry>, segments: string[], depth: number, found: Entry[]): void {
  const segment = segments[depth]
  if (segment === undefined) {
    found.push(...node.entries)
    return
  }
  if (node.rest.length > 0) found.push(...node.rest)
  const child = node.children.get(segment)
  if (child) collect(child, segments, depth + 1, found)
  if (node.parameter && segment !== '') collect(node.parameter, segments, depth + 1, found)
}

function childOf<Entry>(node: Node<Entry>, text: string): Node<Entry> {
  const child = node.children.get(text) ?? emptyNode<Entry>()
  node.children.set(text, child)
  return child
}

function emptyNode<Entry>(): Node<Entry> {
  return { children: new Map(), parameter: undefined, entries: [], rest: [] }
}
