import { createHash } from 'node:crypto'
import { closeSync, openSync, readSync, statSync, type Stats } from 'node:fs'
import { join, posix } from 'node:path'
import { BoundedMap } from '../../common/memoize.js'
import type { RouteTable } from '../../routing/route-table.js'

/** Finds the paths of static files with digests, at which browsers can cache the files forever. */
export class Assets {
  /** A cache of the results of `pathOf`, if these depend neither on changes of the files nor on the host. */
  private readonly fixedPaths = new BoundedMap<string>(1000)

  /**
   * @param table the route table, which contains the folders of static files
   * @param isFixed whether the files do not change, as in production
   */
  constructor(
    private readonly table: RouteTable,
    private readonly isFixed: boolean,
  ) {}

  /** Returns `/application-<digest>.css` for `application.css`, or `/application.css` if there is none. */
  pathOf(name: string, request: { readonly hostname: string }): string {
    const cached = this.fixedPaths.get(name)
    if (cached !== undefined) return cached
    const path = this.search(name, request)
    if (this.isFixed && !this.table.hasFolderHosts) this.fixedPaths.set(name, path)
    return path
  }

  private search(name: string, request: { readonly hostname: string }): string {
    const path = posix.join('/', name)
    const canonical = path.split('/').map(encodeURIComponent).join('/')
    for (const folder of this.table.foldersOf(canonical, request)) {
      const file = folder.fileOf(canonical)
      const found =
        file === undefined ? undefined : this.pathIn(join(folder.folder, decodeURIComponent(file)), path)
      if (found !== undefined) return encodeURI(found).replace(/[?#]/g, encodeURIComponent)
    }
    return encodeURI(path)
  }

  private pathIn(file: string, path: string): string | undefined {
    const stats = statSync(file, { throwIfNoEntry: false })
    return stats?.isFile() ? withDigest(path, digestOf(file, stats)) : undefined
  }
}

/** A cache of the digests of files, by their paths. A file with another time or size has changed. */
const digests = new Map<string, { mtimeMs: number; size: number; digest: string }>()

/** Returns the digest of a file's content: 16 hexadecimal digits. */
export function digestOf(file: string, { mtimeMs, size }: Stats): string {
  const cached = digests.get(file)
  if (cached?.mtimeMs === mtimeMs && cached.size === size) return cached.digest
  const digest = hashOf(file).slice(0, 16)
  digests.set(file, { mtimeMs, size, digest })
  return digest
}

/** The SHA-256 of a file in hexadecimal digits. It is read in blocks, because it may be large. */
function hashOf(file: string): string {
  const hash = createHash('sha256')
  const block = Buffer.allocUnsafe(64 * 1024)
  const handle = openSync(file, 'r')
  try {
    for (let length; (length = readSync(handle, block)) > 0;) hash.update(block.subarray(0, length))
  } finally {
    closeSync(handle)
  }
  return hash.digest('hex')
}

/** Splits `/application-<digest>.css` into `/application.css` and the digest; undefined for other paths. */
export function splitDigest(path: string): { path: string; digest: string } | undefined {
  const [, start, digest, end = ''] = /^(.+)-([0-9a-f]{16})(\.[^./]+)?$/.exec(path) ?? []
  return start === undefined || digest === undefined ? undefined : { path: start + end, digest }
}

function withDigest(path: string, digest: string): string {
  const extension = posix.extname(path)
  return `${path.slice(0, path.length - extension.length)}-${digest}${extension}`
}
