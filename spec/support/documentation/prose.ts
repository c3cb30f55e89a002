/** A part of a file that people read, and the line on which it begins. */
export interface Passage {
  line: number
  text: string
}

/** Phrases that a reader stumbles over, and what to write instead. */
const PHRASES: ReadonlyArray<readonly [RegExp, string]> = [
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
]

const ODD_START = /^(?:What|Whoever|Who|Of an?|Those (?:that|who)|One (?:that|who)|That which) /

/** The phrases and beginnings of sentences in a text that writing well would avoid, with their lines. */
export function oddPhrases(passages: readonly Passage[]): string[] {
  return passages.flatMap(({ line, text }) => {
    const lines = text.split('\n').map((one) => one.replace(/^[^\p{L}\p{N}"'`<{[(]+/u, ''))
    return [...phrasesIn(lines), ...startsIn(lines)].map(
      ([offset, found]) => `line ${line + offset}: ${found}`,
    )
  })
}

type Finding = readonly [offset: number, found: string]

/** A phrase may be broken over two lines. It counts for the first of them. */
function phrasesIn(lines: readonly string[]): Finding[] {
  return lines.flatMap((one, offset) => {
    const both = `${one} ${lines[offset + 1] ?? ''}`
    return PHRASES.flatMap(([phrase, instead]): Finding[] => {
      const match = phrase.exec(both)
      return match && match.index < one.length ? [[offset, `"${match[0]}": write "${instead}"`]] : []
    })
  })
}

/** A question may begin with "What". */
function startsIn(lines: readonly string[]): Finding[] {
  return lines.flatMap((one, offset) =>
    one
      .split(/(?<=[.!?]) +/)
      .filter((sentence) => ODD_START.test(sentence) && !isQuestion(sentence, lines.slice(offset + 1)))
      .map((sentence): Finding => [offset, `a sentence begins with "${sentence.slice(0, 30)}"`]),
  )
}

function isQuestion(sentence: string, following: readonly string[]): boolean {
  return /^[^.!?]*\?/.test([sentence, ...following].join(' '))
}

const TOKENS =
  /\/\*[\s\S]*?\*\/|(?<=^|[\s;{(])\/\/[^\n]*|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`/g

/** The comments of a TypeScript file. */
export function commentsOf(source: string): Passage[] {
  return tokensOf(source).filter(({ text }) => text.startsWith('/'))
}

/** The strings of a TypeScript file that are sentences, or parts of one. */
export function messagesOf(source: string): Passage[] {
  return tokensOf(source).filter(({ text }) => !text.startsWith('/') && text.trim().includes(' '))
}

function tokensOf(source: string): Passage[] {
  return [...source.matchAll(TOKENS)].map(({ 0: text, index }) => ({
    line: source.slice(0, index).split('\n').length,
    text,
  }))
}

/** The prose of a Markdown page, without its code. A heading may begin with "What". */
export function proseOf(markdown: string): Passage[] {
  const blank = (code: string) => code.replaceAll(/[^\n]/g, '')
  const text = markdown
    .replaceAll(/^```.*?^```$/gms, blank)
    .replaceAll(/`[^`\n]*`/g, '``')
    .replaceAll(/^#+ What /gm, '')
  return [{ line: 1, text }]
}
