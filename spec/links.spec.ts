import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { expect } from 'chai'
import { linksOf, anchorsOf } from './support/documentation/markdown.js'
import { root } from './support/kit.js'

const pages = [
  ...readdirSync(root).filter((name) => name.endsWith('.md')),
  'spec/README.md',
  'bench/README.md',
  ...markdownIn('docs'),
]
const anchors = new Map<string, Set<string>>()

describe('The documentation', () => {
  for (const page of pages) {
    it(`links from ${page} only to existing files and headings`, () => {
      const broken = linksOf(read(page)).filter((link) => !isLeadingSomewhere(page, link))
      expect(broken).to.deep.equal([])
    })
  }

  for (const page of ['CONTRIBUTING.md', 'spec/README.md', 'docs/architecture.md'])
    it(`names in ${page} only code that its file contains`, () => {
      // `toText` in `src/records/conditions.ts`
      const places = read(page).matchAll(/((?:`\w+`(?:, | and )?)+) in `((?:src\/)[\w/-]+\.ts)`/g)
      const named = [...places].flatMap(([, names = '', file = '']) =>
        [...names.matchAll(/\w+/g)].flatMap(([name]) => (name === 'and' ? [] : [`${name} in ${file}`])),
      )
      const missing = named.filter((place) => {
        const [name = '', file = ''] = place.split(' in ')
        return !existsSync(join(root, file)) || !read(file).includes(name)
      })
      expect(missing).to.deep.equal([])
      if (page === 'CONTRIBUTING.md')
        expect(named).to.include('OPERATORS in src/records/lists/definition/compile.ts')
    })
})

describe('linksOf(markdown) and anchorsOf(markdown)', () => {
  const page = [
    '# The `kit` command, and more!',
    '[one](one.md#first "One") `[no](code.md)` <img src="two.svg"> ![three](<three.png>)',
    '```md',
    '# [no](block.md)',
    '```',
    '<a id="api-four"></a>',
    '## Twice',
    '## Twice',
    '[five]: five.md',
  ].join('\n')

  it('find all links and anchors of a page outside of code', () => {
    expect(linksOf(page)).to.deep.equal(['one.md#first', 'three.png', 'two.svg', 'five.md'])
    expect([...anchorsOf(page)]).to.deep.equal(['the-kit-command-and-more', 'twice', 'twice-1', 'api-four'])
  })
})

/** Whether the target of a link exists. Links to other sites are not checked. */
function isLeadingSomewhere(page: string, link: string): boolean {
  if (/^[a-z]+:/i.test(link)) return true
  const [path = '', anchor] = decodeURIComponent(link).split('#')
  const file = path === '' ? join(root, page) : join(root, dirname(page), path)
  if (relative(root, file).startsWith('..') || !existsSync(file)) return false
  if (anchor === undefined) return true
  return statSync(file).isFile() && file.endsWith('.md') && anchorsIn(file).has(anchor)
}

/** Many links lead to the same few pages. */
function anchorsIn(file: string): Set<string> {
  const known = anchors.get(file) ?? anchorsOf(readFileSync(file, 'utf8'))
  anchors.set(file, known)
  return known
}

function markdownIn(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(folder, name))
    .toSorted()
}

function read(page: string): string {
  return readFileSync(join(root, page), 'utf8')
}
