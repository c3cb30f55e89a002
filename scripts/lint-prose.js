// Finds phrases in pages, comments, messages, titles and translations that readers stumble over, and prints what to write
// instead. With --fix, it also moves names before their nouns: "the `Link` header" instead of the reverse order.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Phrases and what to write instead. Inline code of a page counts as its two backticks. */
const PHRASES = [
  [/\bcan not\b/i, 'cannot'],
  [/\banew\b/i, 'again'],
  [/\b(?:is|are) (?:there already|already there)\b/i, 'already exists'],
  [/\btak(?:es|e|ing|en) (?:the|its|their) place\b/i, 'replaces'],
  [/(?<!\b(?:there|it) )\bis no (?!longer\b|more\b)/i, "isn't a"],
  [/\bgoes again\b/i, 'is restarted, is deleted'],
  [/\b(?:is|are|was|were) answered\b/i, 'returns, is rejected with'],
  [/\b(?:is|are) told\b/i, 'is configured with, receives'],
  [/\bcolours?\b/i, 'color'],
  [/\bwhoever\b/i, 'a noun'],
  [/\bunder way\b/i, 'in flight, running, pending'],
  [/\bpatien(?:ce|t|tly)\b/i, 'timeout'],
  [/\bas ever\b/i, 'as usual'],
  [/\bmends?\b/i, 'correct'],
  [/\bspeaks? of\b/i, 'names, contains'],
  [/\b(?:the|their|its) present\b(?! tense)|\bpresent password/i, 'current'],
  [/\ban SQLite\b/, 'a SQLite'],
  [/, also (?:if|when|while)\b/i, 'even if'],
  [/\bsome (?:hundred|thousand)\b/i, 'a few hundred'],
  [/\ban? (?!path|date)\w+ of (?:its|their|your) own\b/i, 'its own'],
  // Words of the glossary.
  [/(?<!reader )\bendpoints?\b/i, 'route, handler'],
  [/\brepresentations? of (?:a|the) (?:response|record)\b/i, 'format'],
]

const NOUNS =
  'attribute|column|command|cookie|decorator|engine|environment|event|field|folder|function|handler|header|key|' +
  'method|middleware|model|option|package|parameter|policy|property|relation|script|store|table|type|variable'

/** "the header `Link`" in the source of a page or of a comment, even across two lines. An empty line separates them. */
const SPACE = String.raw`((?: +|\n *)(?:(?://|\*) )?)`
const NOUN_BEFORE_NAME = new RegExp(
  String.raw`\b(the|an?|its|each|this)${SPACE}(${NOUNS})${SPACE}` + '(`[^`\\n]+`)(?![\\w`])',
  'gi',
)

const ODD_START = /^(?:What|Whoever|Who|Of an?|Those (?:that|who)|One (?:that|who)|That which) /

/**
 * The findings in a text, as `[line, what to write]`.
 *
 * @param {string} text
 * @returns {[number, string][]}
 */
export function findings(text) {
  const lines = blankCode(text)
    .split('\n')
    .map((line) => line.replace(/^#+ What .*|^[^\p{L}\p{N}"'`<{[(]+/u, ''))
  return [...namesIn(text), ...phrasesIn(lines), ...startsIn(lines)]
}

/**
 * The text with each name before its noun.
 *
 * @param {string} text
 */
export function namesFirst(text) {
  return text.replaceAll(NOUN_BEFORE_NAME, (_, article, space, noun, secondSpace, name) => {
    const correct = /^an?$/i.test(article)
      ? matchCase(/^`[aeiou]/i.test(name) ? 'an' : 'a', article)
      : article
    return correct + space + name + secondSpace + noun
  })
}

function matchCase(word, like) {
  return /^[A-Z]/.test(like) ? word[0].toUpperCase() + word.slice(1) : word
}

function namesIn(text) {
  return [...text.matchAll(NOUN_BEFORE_NAME)].map(({ 0: found, index }) => [
    lineAt(text, index),
    `"${oneLine(found)}": write "${oneLine(namesFirst(found))}" (npm run lint:prose -- --fix)`,
  ])
}

/** A phrase may be broken over two lines. It counts for the first of them. */
function phrasesIn(lines) {
  return lines.flatMap((line, index) => {
    const both = `${line} ${lines[index + 1] ?? ''}`
    return PHRASES.flatMap(([phrase, instead]) => {
      const match = phrase.exec(both)
      return match && match.index < line.length ? [[index + 1, `"${match[0]}": write "${instead}"`]] : []
    })
  })
}

/** A question may begin with "What". */
function startsIn(lines) {
  return lines.flatMap((line, index) =>
    line
      .split(/(?<=[.!?]) +/)
      .filter((sentence) => ODD_START.test(sentence) && !isQuestion([sentence, ...lines.slice(index + 1)]))
      .map((sentence) => [
        index + 1,
        `a sentence begins with "${sentence.slice(0, 30)}": begin with its subject`,
      ]),
  )
}

function isQuestion(lines) {
  return /^[^.!?]*\?/.test(lines.join(' '))
}

/** A text without the content of inline code. */
function blankCode(text) {
  return text.replaceAll(/`[^`\n]*`/g, '``')
}

function oneLine(text) {
  return text.replaceAll(/\s+(?:(?:\/\/|\*) )?/g, ' ')
}

function lineAt(text, index) {
  return text.slice(0, index).split('\n').length
}

const TOKENS =
  /\/\*[\s\S]*?\*\/|(?<=^|[\s;{(])\/\/[^\n]*|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`/g

/** The comments of a TypeScript file, and its strings that are sentences or parts of one, as `[offset, text]`. */
function passagesOfSource(source) {
  return [...source.matchAll(TOKENS)]
    .filter(([text]) => text.startsWith('/') || text.trim().includes(' '))
    .map(({ 0: text, index }) => [index, text])
}

/** The prose of a page: the parts outside of its blocks of code. */
function passagesOfPage(page) {
  return [...page.matchAll(/^```.*?^```$|(?:^(?!```)[^\n]*\n?)+/gms)]
    .filter(([text]) => !text.startsWith('```'))
    .map(({ 0: text, index }) => [index, text])
}

const root = fileURLToPath(new URL('..', import.meta.url))

/** The files of each kind, and the function that finds their prose. */
export function filesToRead() {
  const pages = [
    ...filesIn('docs').filter((file) => !file.startsWith('docs/reference/')),
    ...filesIn('.', false),
    'bench/README.md',
    'spec/README.md',
  ]
  return [
    ...pages.filter((file) => file.endsWith('.md')).map((file) => [file, passagesOfPage]),
    ...['src', 'spec']
      .flatMap((folder) => filesIn(folder))
      .filter((file) => !/\.md$|lint-prose\.spec\.ts$/.test(file))
      .map((file) => [file, passagesOfSource]),
    ...['assets', 'scaffolds']
      .flatMap((folder) => filesIn(folder))
      .filter((file) => !file.startsWith('assets/passwords/'))
      .map((file) => [file, (text) => [[0, text]]]),
  ]
}

function filesIn(folder, recursive = true) {
  return readdirSync(join(root, folder), { recursive, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
}

/** Prints the findings of all files, and returns how many there are. */
function lint({ fix }) {
  let count = 0
  for (const [file, passagesOf] of filesToRead()) {
    let source = readFileSync(join(root, file), 'utf8')
    if (fix) {
      for (const [index, passage] of passagesOf(source).toReversed()) {
        source = source.slice(0, index) + namesFirst(passage) + source.slice(index + passage.length)
      }
      writeFileSync(join(root, file), source)
    }
    for (const [index, passage] of passagesOf(source)) {
      for (const [line, message] of findings(passage)) {
        console.log(`${file}:${lineAt(source, index) + line - 1}: ${message}`)
        count++
      }
    }
  }
  return count
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const count = lint({ fix: process.argv.includes('--fix') })
  if (count > 0) process.exitCode = 1
}
