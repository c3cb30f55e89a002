import { existsSync } from 'node:fs'
import { dirname, isAbsolute, join, normalize, relative, sep } from 'node:path'
import { assets } from '../common/assets.js'
import { channels, measure } from '../common/channels.js'
import { BoundedMap } from '../common/memoize.js'
import { TemplateNotFound } from '../errors.js'
import { CompiledTemplate, type CompileOptions } from './compiled-template.js'
import { locateError } from './template-errors.js'

/** The options of a renderer. */
export interface RendererOptions {
  /** The template folders, in order. The framework's own folder is always the last. */
  folders: string[]
  /** Whether compiled templates are used even if their files have changed: in production. */
  cache: boolean
  /** Whether templates check that records have the attributes that they read: in development. */
  checksAttributes?: boolean
  /** Returns a better error for the error of a template. */
  explain?: (error: Error) => Error
}

/** The folder of the framework's own templates: a plain layout and the error pages. */
export const frameworkTemplates = join(assets, 'templates')

/** The templates of all renderers: the next application of a process need not compile them again. */
const compiledTemplates = new BoundedMap<CompiledTemplate>(1000)

/**
 * Renders pug templates by name. A template overrides one of the same name in a later folder, even if another
 * template extends or includes it.
 *
 * @example new Renderer({ folders: ['templates'], cache: true }).render('posts/show', { post })
 */
export class Renderer implements CompileOptions {
  readonly debug: boolean
  readonly checksAttributes: boolean
  private readonly folders: string[]
  private readonly explain: (error: Error) => Error
  private readonly compiled = new Map<string, CompiledTemplate>()

  constructor({ folders, cache, checksAttributes = false, explain = (error) => error }: RendererOptions) {
    this.debug = !cache
    this.checksAttributes = checksAttributes
    this.folders = [...new Set([...folders, frameworkTemplates])]
    this.explain = explain
  }

  /**
   * Renders a template, whose name has no extension: `posts/show`. Outside of production, errors have its
   * `file` and `line`.
   *
   * @throws TemplateNotFound when no folder has it, or the name leads out of the folders
   */
  render(view: string, locals: Record<string, unknown> = {}): string {
    const end = measure(channels.render, 'template', view)
    try {
      const page = this.template(view).render(locals)
      end?.()
      return page
    } catch (error) {
      // The name of a template that does not exist may be a parameter.
      if (!(error instanceof TemplateNotFound)) end?.(error)
      throw locateError(error, this.explain)
    }
  }

  has(view: string): boolean {
    return isWithin(view) && this.folders.some((folder) => existsSync(join(folder, `${view}.pug`)))
  }

  private template(view: string): CompiledTemplate {
    const own = this.compiled.get(view)
    if (own && (!this.debug || own.isCurrent)) return own
    const key = JSON.stringify([view, this.debug, this.checksAttributes, ...this.folders])
    const shared = compiledTemplates.get(key)
    const template = shared?.isCurrent ? shared : new CompiledTemplate(`${view}.pug`, this)
    compiledTemplates.set(key, template)
    this.compiled.set(view, template)
    return template
  }

  /** `/layout.pug` is relative to the folders, `_form.pug` to its source. */
  nameOf(file: string, source: string): string {
    if (file.startsWith('/')) return file.slice(1)
    const folder = this.folders.find((folder) => isWithin(relative(folder, source))) ?? dirname(source)
    return join(relative(folder, dirname(source)), file)
  }

  locate(name: string): string {
    if (!isWithin(name)) throw new TemplateNotFound(name, [])
    const files = this.folders.map((folder) => join(folder, name))
    const existing = files.find((file) => existsSync(file))
    if (!existing)
      throw new TemplateNotFound(
        name.replace(/\.pug$/, ''),
        files.map((file) => relative(process.cwd(), file)),
      )
    return existing
  }
}

/** Whether a relative path stays inside its folder. */
function isWithin(path: string): boolean {
  return !path.includes('\0') && !isAbsolute(path) && normalize(path).split(sep)[0] !== '..'
}
