/** Tags of HTTP in the headers `ETag`, `If-Match` and `If-None-Match` (RFC 9110, sections 8.8.3 and 13.1). */

/** The suffix that a proxy appends to a tag when it compresses a response, or nothing. */
const SUFFIX = /^(?:--?(?:gzip|br|zstd|deflate))?$/

/** The tags in a header, without their quotes and the `W/` of proxies: `7-abc` for `W/"7-abc"`. */
function tagsIn(header: string): string[] {
  return [...header.matchAll(/(?:^|,)\s*(?:W\/)?"([^"]*)"\s*(?=,|$)/g)].map(([, tag = '']) => tag)
}

/** Whether a header is `*`, which matches every representation. */
export function isWildcard(header: string): boolean {
  return header.trim() === '*'
}

/** Whether a header has a tag with this version: `"7"`, or with the digest of a format, `"7-mZ3kQ2v0"`. */
export function namesVersion(header: string, version: unknown): boolean {
  return isWildcard(header) || tagsIn(header).some((tag) => tag.split('-', 1)[0] === String(version))
}

/** Whether `If-None-Match` contains a tag. The comparison is weak, and ignores what proxies append. */
export function namesTag(header: string, tag: string): boolean {
  const [own] = tagsIn(tag)
  // The beginning is compared, because the end of a tag with a hyphen can be a digest as well as a suffix.
  const isOwn = (it: string) => own !== undefined && it.startsWith(own) && SUFFIX.test(it.slice(own.length))
  return isWildcard(header) || tagsIn(header).some(isOwn)
}
