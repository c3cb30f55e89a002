import { frameworkCatalogue, type Catalogue, type TextSource } from './catalogue.js'
import { defaultLocale } from './formatters.js'
import { withChoices } from './interpolation.js'
import { chooseLocale } from './locale-choice.js'
import { assignLocale, catalogueOf, requestLocale, setCatalogue } from './request-locale.js'

/** The members of a context that translate. */
export interface TranslationMembers {
  /**
   * The locale of this request: `en-US`, or the one chosen by the `translations()` middleware. If you assign a locale, the
   * closest existing one is used, else the fallback. So the value may come from a user.
   */
  locale: string

  /**
   * The texts of `t`.
   *
   * @internal
   */
  catalogue: Catalogue

  /** Translates an id into this request's locale. Returns the id if it has no translation. */
  t(id: string, values?: Record<string, unknown>): string

  /**
   * Translates an id, with lists of choices in values. Returns undefined if it has no translation.
   *
   * @internal
   */
  readonly translate: (id: string, values: Record<string, unknown>, source?: TextSource) => string | undefined
}

export const translationMembers: TranslationMembers & ThisType<TranslationMembers> = {
  get locale() {
    return requestLocale(this) ?? defaultLocale
  },

  set locale(chosen) {
    const { locales } = this.catalogue
    assignLocale(this, chosen, (wanted) =>
      chooseLocale(locales, { chosen: [wanted], accept: '' }, defaultLocale),
    )
  },

  get catalogue() {
    return catalogueOf(this) ?? frameworkCatalogue()
  },

  set catalogue(catalogue) {
    setCatalogue(this, catalogue)
  },

  t(id, values) {
    return this.catalogue.translate(this.locale, id, values) ?? id
  },

  get translate(): TranslationMembers['translate'] {
    return (id, values, source) =>
      this.catalogue.translate(this.locale, id, withChoices(values, this.locale), source)
  },
}
