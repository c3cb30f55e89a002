import type { PathPattern } from './path.js'

interface Node<Entry> {
  /** The children for segments without a parameter, by the encoded segment. */
  children: Map<string, Node<Entry>>
  /** The child for all segments that contain a parameter. */
  parameter: Node<Entry> | undefined
  /** The entries whose path ends here. */
  entries: Entry[]
  /** The entries whose next segment is a wildcard. */
  rest: Entry[]
}

/**
 * A tree of path segments that finds the candidate routes of a request. The cost depends on the length of the
 * path and not on the number of routes. The regular expression of @koa/router then decides whether a
 * candidate matches.
 */
export class RouteIndex<Entry> {
  private readonly root: Node<Entry> = createNode()

  add(pattern: PathPattern, entry: Entry): void {
    let node = this.root
    for (const tokens of pattern.segments) {
      if (tokens.some((token) => token.kind === 'rest')) {
        node.rest.push(entry)
        return
      }
      const [first] = tokens
      if (tokens.length === 1 && first?.kind === 'text') node = addChild(node, encodeURIComponent(first.text))
      else node = node.parameter ??= createNode()
    }
    node.entries.push(entry)
  }

  /** Finds the entries whose path may match a canonical path, in any order. */
  findCandidates(path: string): Entry[] {
    const matches: Entry[] = []
    // The root has no segments: position 2 is beyond its path.
    collect(this.root, path, path === '/' ? 2 : 1, matches)
    return matches
  }
}

/** @param start the position of the next segment, which is beyond the path if no segment is left */
function collect<Entry>(node: Node<Entry>, path: string, start: number, matches: Entry[]): void {
  if (start > path.length) {
    matches.push(...node.entries)
    return
  }
  const slash = path.indexOf('/', start)
  const end = slash < 0 ? path.length : slash
  if (node.rest.length > 0) matches.push(...node.rest)
  const child = node.children.size > 0 ? node.children.get(path.slice(start, end)) : undefined
  if (child) collect(child, path, end + 1, matches)
  // A parameter is never empty.
  if (node.parameter && end > start) collect(node.parameter, path, end + 1, matches)
}

function addChild<Entry>(node: Node<Entry>, text: string): Node<Entry> {
  const child = node.children.get(text) ?? createNode<Entry>()
  node.children.set(text, child)
  return child
}

function createNode<Entry>(): Node<Entry> {
  return { children: new Map(), parameter: undefined, entries: [], rest: [] }
}
