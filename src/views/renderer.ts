import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, isAbsolute, join, normalize, relative, sep } from 'node:path'
import type pug from 'pug'
import { TemplateNotFound } from '../errors.js'

/** pug is loaded with the first template: an application without templates starts without it. */
const require = createRequire(import.meta.url)

/** Where templates are, and whether they are compiled only once. */
export interface RendererOptions {
  /** The folders to look in, in order. The framework's own folder is always the last. */
  folders: string[]
  /** Whether a template is kept once it is compiled: true in production, false while it is being written. */
  cache: boolean
}

/** What pug does not declare: how a plugin says where an `extends` or `include` leads. */
interface ResolvePlugin {
  resolve(file: string, source: string): string
}

/** The folder of the templates that the framework brings along: a plain layout and the error pages. */
export const frameworkTemplates = join(import.meta.dirname, '../../../templates')

/**
 * Renders pug templates by name. A template of an earlier folder wins over one of the same name in a later folder, also
 * where another template extends or includes it.
 *
 * @example new Renderer({ folders: ['templates'], cache: true }).render('posts/show', { post })
 */
export class Renderer {
  private readonly folders: string[]
  private readonly cache: boolean
  private readonly compiled = new Map<string, pug.compileTemplate>()

  constructor({ folders, cache }: RendererOptions) {
    this.folders = [...new Set([...folders, frameworkTemplates])]
    this.cache = cache
  }

  /**
   * Renders a view with its locals.
   *
   * @param view the template's name without its ending: `posts/show`
   * @throws TemplateNotFound when no folder has it, or the name leads out of the folders
   */
  render(view: string, locals: Record<string, unknown> = {}): string {
    return this.template(view)(locals)
  }

  private template(view: string): pug.compileTemplate {
    const kept = this.compiled.get(view)
    if (kept) return kept
    const template = this.compile(this.locate(`${view}.pug`))
    if (this.cache) this.compiled.set(view, template)
    return template
  }

  private compile(filename: string): pug.compileTemplate {
    const plugin: ResolvePlugin = { resolve: (file, source) => this.locate(this.nameOf(file, source)) }
    const options = { filename, compileDebug: !this.cache, plugins: [plugin] }
    const compiler: typeof pug = require('pug')
    return compiler.compileFile(filename, options)
  }

  /** The name that an `extends` or `include` asks for: `/layout.pug` counts from the folders, `_form.pug` from its source. */
  private nameOf(file: string, source: string): string {
    if (file.startsWith('/')) return file.slice(1)
    const folder = this.folders.find((folder) => isWithin(relative(folder, source))) ?? dirname(source)
    return join(relative(folder, dirname(source)), file)
  }

  private locate(name: string): string {
    if (!isWithin(name)) throw new TemplateNotFound(name, [])
    const tried = this.folders.map((folder) => join(folder, name))
    const found = tried.find((file) => existsSync(file))
    if (!found) throw new TemplateNotFound(name, tried)
    return found
  }
}

/** Whether a relative path stays beneath its folder. */
function isWithin(path: string): boolean {
  return !path.includes('\0') && !isAbsolute(path) && normalize(path).split(sep)[0] !== '..'
}
