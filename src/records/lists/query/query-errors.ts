import { ValidationErrors } from '../../../errors.js'
import { nearest } from '../../../naming/spelling.js'
import { markTranslated } from '../../../models/validation/added-errors.js'
import { attributeName, messageOf, type Translate } from '../../../models/validation/validation.js'

/** The maximum number of parameters with errors that a response names. */
const maxNames = 20

/** The maximum length of a name in an error. */
const maxNameLength = 100

/** Collects the errors of a query, under the names of its parameters. */
export class QueryErrors {
  private errors: ValidationErrors | undefined

  constructor(
    private readonly model: Function,
    private readonly translate: Translate | undefined,
  ) {}

  /**
   * Adds an error of a parameter.
   *
   * @param attribute the name of the attribute in the message
   * @param own the message without translations
   */
  add(
    parameter: string,
    attribute: string,
    rule: string,
    own: string,
    details: Record<string, unknown> = {},
  ): void {
    // Clients cannot read an object or an element with the name `__proto__`.
    const name = parameter === '__proto__' ? 'base' : cut(parameter)
    if (this.isFull(name)) return
    const values = { attribute: attributeName(this.model, attribute, this.translate), name, ...details }
    const message = messageOf(this.model, attribute, rule, values, { own }, this.translate)
    this.errors ??= new ValidationErrors(400)
    this.errors.add(name, rule, message, values)
  }

  /** Adds the error of a name that the list does not have. Its message suggests the most similar name. */
  addUnknown(parameter: string, unknown: string, rule: string, names: Iterable<string>): void {
    const name = cut(unknown)
    // `add` checks this, too, but finding the most similar name takes time.
    if (this.isFull(cut(parameter))) return
    const near = nearest(name, names)
    const own = `"${name}" does not exist.`
    if (near === undefined) this.add(parameter, parameter, rule, own, { name })
    else this.add(parameter, parameter, `${rule}_near`, `${own} Did you mean "${near}"?`, { name, near })
  }

  /** Whether so many parameters have errors that another one is left out. */
  private isFull(name: string): boolean {
    const { fields } = this.errors ?? {}
    return fields !== undefined && fields.size >= maxNames && !fields.has(name)
  }

  /** The errors with translated messages; undefined if there are none. */
  get result(): ValidationErrors | undefined {
    if (this.errors) markTranslated(this.errors)
    return this.errors
  }
}

function cut(name: string): string {
  return Array.from(name).slice(0, maxNameLength).join('')
}
