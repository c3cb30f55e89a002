/** Tags of HTTP in the headers `ETag`, `If-Match` and `If-None-Match` (RFC 9110, sections 8.8.3 and 13.1). */

/** The suffix that a proxy appends to a tag when it compresses a response, or nothing. */
const SUFFIX = /^(?:--?(?:gzip|br|zstd|deflate))?$/

/** The tags in a header without their quotes, as proxies may have weakened them: `7-abc` for `W/"7-abc"`. */
function tagsIn(header: string): string[] {
  return header.split(',').flatMap((part) => /^\s*(?:W\/)?"([^"]*)"\s*$/.exec(part)?.[1] ?? [])
}

/** Whether a header names any representation. */
export function isAny(header: string): boolean {
  return header.trim() === '*'
}

/** Whether a header contains a tag of the framework with this version: `"7"`, or of any format `"7-mZ3kQ2v0aB1cD4eF"`. */
export function namesVersion(header: string, version: unknown): boolean {
  return isAny(header) || tagsIn(header).some((tag) => tag.split('-', 1)[0] === String(version))
}

/** Whether `If-None-Match` contains a tag. The comparison is weak, and ignores what proxies append. */
export function namesTag(header: string, tag: string): boolean {
  const [own] = tagsIn(tag)
  // The digest may end in a hyphen as well.
  const isOwn = (it: string) => own !== undefined && it.startsWith(own) && SUFFIX.test(it.slice(own.length))
  return isAny(header) || tagsIn(header).some(isOwn)
}
