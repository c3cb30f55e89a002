import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../kit.js'

/** A block of code in a page of the documentation. */
export interface CodeBlock {
  /** The page, relative to the root of the repository, and the line on which the block begins. */
  page: string
  line: number
  language: string
  code: string
}

/** The blocks of all pages, in the order of the pages. */
export function codeBlocks(): CodeBlock[] {
  return pages().flatMap((page) => blocksOf(page, readFileSync(join(root, page), 'utf8')))
}

/** The pages of the documentation, relative to the root of the repository. */
export function pages(): string[] {
  const guides = readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md'))
  const others = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'spec/README.md', 'bench/README.md']
  return [...others, ...guides.toSorted().map((name) => `docs/${name}`)]
}

/** The examples in the reference, which come from doc comments. Its other blocks are signatures. */
export function referenceExamples(): CodeBlock[] {
  return [
    'docs/reference/resource-kit/README.md',
    'docs/reference/resource-kit/namespaces/errors.md',
    'docs/reference/resource-kit/testing.md',
  ].flatMap((page) => {
    const text = readFileSync(join(root, page), 'utf8')
    const lines = text.split('\n')
    return blocksOf(page, text).filter(({ line }) => /^#+ Example/.test(lines[line - 3] ?? ''))
  })
}

function blocksOf(page: string, text: string): CodeBlock[] {
  return [...text.matchAll(/^```(\w*)\n(.*?)^```$/gms)].map(([, language = '', code = ''], index, all) => ({
    page,
    line: text.slice(0, all[index]?.index).split('\n').length,
    language,
    code,
  }))
}

/** The file that a block contains, if its first line names it: `// src/app.ts`. */
export function namedFile({ code }: CodeBlock): string | undefined {
  return /^(?:\/\/-?|#) ((?:src|spec|templates|migrations|locales)\/\S+)\n/.exec(code)?.[1]
}
