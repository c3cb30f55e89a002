import { existsSync, readFileSync } from 'node:fs'
import type pug from 'pug'
import { BoundedMap } from '../common/memoize.js'
import { addChecks } from './attribute-checks.js'
import { require } from '../common/lazy.js'

/** How to compile a template. */
export interface CompileOptions {
  /** Whether errors have the file and the line of the template. */
  debug: boolean
  /** Whether the template checks that records have the attributes that it reads. */
  checksAttributes: boolean
  /** Finds the file of a template's name. */
  locate(name: string): string
  /** Returns the name of a template that `extends` or `include` mentions as `file`, relative to `source`. */
  nameOf(file: string, source: string): string
}

/** The hooks of pug (not in its types) that find, read and parse the file of an `extends` or `include`. */
interface FilesPlugin {
  resolve(file: string, source: string): string
  read(file: string): Buffer
  preLex(source: string, options: { filename: string }): string
  postParse(tree: unknown, options: { filename: string; src: string }): unknown
  preCodeGen?: typeof addChecks
}

/**
 * The trees of files that templates extend or include, by their paths: most templates extend the same layout.
 * Pug copies a tree before it changes it.
 */
const parsedFiles = new BoundedMap<{ source: string; tree: unknown }>(100)

/** A compiled template, with the files from which it was compiled. */
export class CompiledTemplate {
  readonly render: pug.compileTemplate
  /** The files, by the names in the template and in those that it extends and includes. */
  private readonly files = new Map<string, string>()
  private readonly contents = new Map<string, Buffer>()

  /** @param name with its extension: `posts/show.pug` */
  constructor(
    name: string,
    private readonly options: CompileOptions,
  ) {
    const compiler: typeof pug = require('pug')
    const filename = this.locate(name)
    const plugin: FilesPlugin = {
      resolve: (file, source) => this.locate(options.nameOf(file, source)),
      read: (file) => this.read(file),
      // Nothing is parsed if `postParse` returns a cached tree.
      preLex: (source, parsed) => (treeOf(parsed.filename, source) ? '' : source),
      postParse(tree, parsed) {
        const cached = treeOf(parsed.filename, parsed.src)
        if (cached) return cached
        // Only files that are extended or included are parsed for several templates.
        if (parsed.filename !== filename) parsedFiles.set(parsed.filename, { source: parsed.src, tree })
        return tree
      },
      ...(options.checksAttributes && { preCodeGen: addChecks }),
    }
    const pugOptions = { filename, compileDebug: options.debug, plugins: [plugin] }
    this.render = compiler.compile(this.read(filename).toString(), pugOptions)
  }

  /** Whether compiling a template would change nothing. It reads the files: times are too coarse. */
  get isCurrent(): boolean {
    const { files, contents, options } = this
    return (
      [...contents].every(([file, content]) => existsSync(file) && readFileSync(file).equals(content)) &&
      [...files].every(([name, file]) => options.locate(name) === file)
    )
  }

  private locate(name: string): string {
    const file = this.options.locate(name)
    this.files.set(name, file)
    return file
  }

  private read(file: string): Buffer {
    const content = readFileSync(file)
    this.contents.set(file, content)
    return content
  }
}

/** The cached tree of a file; undefined if its source has changed. */
function treeOf(file: string, source: string): unknown {
  const cached = parsedFiles.get(file)
  return cached?.source === source ? cached.tree : undefined
}
