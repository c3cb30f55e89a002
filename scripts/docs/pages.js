import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))
const target = fileURLToPath(new URL('pages', import.meta.url))

/** The pages of the site, by their files in the repository. */
const pages = new Map([
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .map((file) => [`docs/${file}`, file.replace(/(^|\/)README\.md$/, '$1index.md')]),
  ['README.md', 'overview.md'],
  ['SECURITY.md', 'security-policy.md'],
  ['CONTRIBUTING.md', 'contributing.md'],
  ['CHANGELOG.md', 'changelog.md'],
  ['bench/README.md', 'benchmarks.md'],
])

/** Copies the pages into a folder of their own, with links between the pages of the site. */
export function copyPages() {
  rmSync(target, { recursive: true, force: true })
  for (const [source, page] of pages) {
    mkdirSync(dirname(join(target, page)), { recursive: true })
    writeFileSync(join(target, page), pageOf(source, page))
  }
}

/** The groups of the index, as VitePress expects a sidebar. */
export function sidebar() {
  const groups = []
  for (const line of read('docs/README.md').split('\n')) {
    const [, group] = /^## (.+)/.exec(line) ?? []
    if (group) groups.push({ text: group, items: [] })
    const [, text, link] = /^- \[([^\]]+)\]\(([^)]+)\)/.exec(line) ?? []
    if (link) groups.at(-1).items.push({ text, link: `/${pages.get(posix.join('docs', link))}` })
  }
  return groups
}

function pageOf(source, page) {
  return outsideOfCode(read(source), (text) =>
    text
      // The site has its own switch between light and dark.
      .replaceAll(
        /<picture>\s*<source [^>]*srcset="([^"]+)"[^>]*>\s*<img src="([^"]+)"([^>]*)>\s*<\/picture>/g,
        '<img class="dark-only" src="$1"$3><img class="light-only" src="$2"$3>',
      )
      .replaceAll(/(?<=src=")(?=[^"]+")[^"]+/g, (link) => imageOf(link, source, page))
      .replaceAll(/!\[([^\]]*)\]\(([^)]+)\)/g, (_, alt, link) => `![${alt}](${imageOf(link, source, page)})`)
      .replaceAll(/(?<!!)\[((?:[^[\]]|\[[^\]]*\])+)\]\(([^)\s]+)\)/g, (whole, text, link) =>
        linkOf(whole, text, link, source, page),
      ),
  )
}

/** Changes a page, except for its blocks of code and its inline code. A link may have inline code in its text. */
function outsideOfCode(markdown, change) {
  const code = []
  const hide = (text) => `\uE000${code.push(text) - 1}\uE001`
  const hidden = markdown.replaceAll(/^( *)```.*?^\1```$/gms, hide).replaceAll(/`[^`\n]+`/g, hide)
  return change(hidden).replaceAll(/\uE000(\d+)\uE001/g, (_, index) => code[index])
}

/** A link to another page of the site, or only its text if it leads to a file of the repository. */
function linkOf(whole, text, link, source, page) {
  if (/^([a-z]+:|#)/.test(link)) return whole
  const [path, anchor] = link.split('#')
  const to = pages.get(posix.join(posix.dirname(source), path))
  if (!to) return text
  return `[${text}](${relative(page, to)}${anchor ? `#${anchor}` : ''})`
}

/** Copies an image beside the pages. */
function imageOf(link, source, page) {
  if (/^[a-z]+:/.test(link)) return link
  const file = posix.join(posix.dirname(source), link)
  const copy = file.replace(/^docs\//, '')
  if (!existsSync(join(root, file))) throw new Error(`${source} shows ${link}, which does not exist.`)
  cpSync(join(root, file), join(target, copy))
  return relative(page, copy)
}

function relative(page, to) {
  const path = posix.relative(posix.dirname(page), to)
  return path.startsWith('.') ? path : `./${path}`
}

function read(file) {
  return readFileSync(join(root, file), 'utf8')
}
