import { cookiesOf } from '../common/cookies.js'
import { PerRequest } from '../common/per-request.js'
import { knownTimeZone } from '../common/time-zones.js'
import { frameworkCatalog, type Catalog, type TextSource } from './catalog.js'
import { defaultLocale } from './formatters.js'
import { joinChoices } from './interpolation.js'
import { chooseLocale } from './locale-choice.js'

declare module '../context.js' {
  interface ContextMembers extends TranslationMembers {}
}

/** The methods and properties of the context that translate. */
export interface TranslationMembers {
  /**
   * The locale of this request: `en-US`, or the locale that the `translations()` middleware chooses. You can
   * assign a locale that comes from a user: the closest existing locale is used, else the fallback.
   */
  locale: string

  /**
   * The time zone in which pages show datetimes and forms are read: the `time_zone` cookie, else
   * `AppOptions.timeZone`, else UTC. You can assign a time zone, for example that of the user. An unknown
   * time zone is ignored.
   */
  timeZone: string

  /**
   * The translations of `t`.
   *
   * @internal
   */
  readonly catalog: Catalog

  /** Translates an id into this request's locale. Returns the id if it has no translation. */
  t(id: string, values?: Record<string, unknown>): string

  /**
   * Translates an id, with lists of choices in values. Returns undefined if it has no translation.
   *
   * @internal
   */
  readonly translate: (id: string, values: Record<string, unknown>, source?: TextSource) => string | undefined
}

/** The language of a request. */
export interface Language {
  /** The translations of the request. */
  catalog: Catalog
  /** The locale that is used if the catalog has none of the preferred locales. */
  fallback: string
  /** Chooses the locale that the request prefers. */
  choose(): string
  /** The locale, as soon as it is chosen. */
  locale?: string
}

/** The languages of requests, which `translations()` sets. */
export const languages = new PerRequest<Language>()

/** The method of the context that marks a response as dependent on a header of the request. */
interface VisitorRequest {
  vary(header: string): void
}

const timeZones = new PerRequest<string>()

/**
 * The members of an application's context that translate.
 *
 * @param fallback the time zone of visitors without one
 */
export function translationMembers(
  fallback: string,
): TranslationMembers & ThisType<TranslationMembers & VisitorRequest> {
  return {
    get timeZone() {
      const cached = timeZones.get(this)
      if (cached !== undefined) return cached
      // A job has no visitor.
      if (!('req' in this)) return fallback
      this.vary('Cookie')
      const timeZone = knownTimeZone(decodeSlash(cookiesOf(this).get('time_zone'))) ?? fallback
      timeZones.set(this, timeZone)
      return timeZone
    },

    set timeZone(name) {
      const timeZone = knownTimeZone(name)
      if (timeZone !== undefined) timeZones.set(this, timeZone)
    },

    get locale() {
      const language = languages.get(this)
      return language ? (language.locale ??= language.choose()) : defaultLocale
    },

    set locale(preference) {
      const { catalog } = this
      const { fallback, choose } = languages.get(this) ?? defaultLanguage
      const locale = chooseLocale(catalog.locales, { chosen: [preference], accept: '' }, fallback)
      languages.set(this, { catalog, fallback, choose, locale })
    },

    get catalog() {
      return languages.get(this)?.catalog ?? frameworkCatalog()
    },

    t(id, values) {
      return this.catalog.translate(this.locale, id, values) ?? id
    },

    get translate(): TranslationMembers['translate'] {
      return (id, values, source) =>
        this.catalog.translate(this.locale, id, joinChoices(values, this.locale), source)
    },
  }
}

/** The language of a request without `translations()`. */
const defaultLanguage = { fallback: defaultLocale, choose: () => defaultLocale }

/** Decodes the slash in a cookie, which a script may have encoded. */
function decodeSlash(cookie: string | undefined): string | undefined {
  return cookie?.replace(/%2f/gi, '/')
}
