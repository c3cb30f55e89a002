/** The targets of the links and images of a page. */
export function linksOf(markdown: string): string[] {
  const text = withoutCode(markdown)
  const inline = text.matchAll(/\]\(<?([^)\s>]+)>?(?:\s+"[^"]*")?\)/g)
  const html = text.matchAll(/\s(?:href|src|srcset)="([^"]+)"/g)
  const definitions = text.matchAll(/^\s*\[[^\]]+\]:\s*<?([^\s>]+)>?/gm)
  return [inline, html, definitions].flatMap((matches) => [...matches].map(([, link = '']) => link))
}

/** The anchors of a page, as GitHub creates them: those of its headings, and those that HTML defines. */
export function anchorsOf(markdown: string): Set<string> {
  const anchors = new Set<string>()
  const text = markdown.replaceAll(FENCES, '')
  for (const [, heading = ''] of text.matchAll(/^#{1,6} +(.*?)(?: +#+)?$/gm)) {
    const slug = slugOf(heading)
    let anchor = slug
    for (let count = 1; anchors.has(anchor); count++) anchor = `${slug}-${count}`
    anchors.add(anchor)
  }
  for (const [, id = ''] of text.matchAll(/<\w+[^>]*\s(?:id|name)="([^"]+)"/g)) anchors.add(id)
  return anchors
}

const FENCES = /^( *)(`{3,}|~{3,})[^]*?^\1\2`*$/gm

function withoutCode(markdown: string): string {
  return markdown.replaceAll(FENCES, '').replaceAll(/(`+)[^]*?\1/g, '')
}

/** `` `ctx.load` and the *rest* `` -> `ctxload-and-the-rest` */
function slugOf(heading: string): string {
  return heading
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\p{M} _-]/gu, '')
    .replaceAll(' ', '-')
}
