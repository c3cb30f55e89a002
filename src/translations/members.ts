import { cookiesOf } from '../common/cookies.js'
import { PerRequest } from '../common/per-request.js'
import { knownTimeZone } from '../common/time-zones.js'
import { frameworkCatalog, type Catalog, type TextSource } from './catalog.js'
import { defaultLocale } from './formatters.js'
import { withChoices } from './interpolation.js'
import { chooseLocale } from './locale-choice.js'

declare module '../context.js' {
  interface ContextMembers extends TranslationMembers {}
}

/** The members of a context that translate. */
export interface TranslationMembers {
  /**
   * The locale of this request: `en-US`, or the one chosen by the `translations()` middleware. If you assign a locale, the
   * closest existing one is used, else the fallback. So the value may come from a user.
   */
  locale: string

  /**
   * The time zone in which pages show datetimes and forms are read: the `time_zone` cookie, else `AppOptions.timeZone`, else
   * UTC. If you assign a time zone, for example of the signed-in user, it is used unless it is unknown.
   */
  timeZone: string

  /**
   * The texts of `t`.
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
  /** The texts of the request. */
  catalog: Catalog
  /** The locale, if the catalog has none that is wanted. */
  fallback: string
  /** Chooses the locale that the request asks for. */
  choose(): string
  /** The locale, as soon as it is chosen. */
  locale?: string
}

/** The languages of requests, which `translations()` sets. */
export const languages = new PerRequest<Language>()

/** The part of a request whose response depends on the visitor's time zone. */
interface VisitorRequest {
  vary(header: string): void
}

const timeZones = new PerRequest<string>()

/** @param fallback the time zone of visitors without one */
export function translationMembers(
  fallback: string,
): TranslationMembers & ThisType<TranslationMembers & VisitorRequest> {
  return {
    get timeZone() {
      const known = timeZones.get(this)
      if (known !== undefined) return known
      this.vary('Cookie')
      const chosen = knownTimeZone(decoded(cookiesOf(this).get('time_zone'))) ?? fallback
      timeZones.set(this, chosen)
      return chosen
    },

    set timeZone(chosen) {
      const known = knownTimeZone(chosen)
      if (known !== undefined) timeZones.set(this, known)
    },

    get locale() {
      const language = languages.get(this)
      return language ? (language.locale ??= language.choose()) : defaultLocale
    },

    set locale(wanted) {
      const { catalog } = this
      const { fallback, choose } = languages.get(this) ?? withoutChoice
      const locale = chooseLocale(catalog.locales, { chosen: [wanted], accept: '' }, fallback)
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
        this.catalog.translate(this.locale, id, withChoices(values, this.locale), source)
    },
  }
}

/** The language of a request without `translations()`. */
const withoutChoice = { fallback: defaultLocale, choose: () => defaultLocale }

/** A script may have encoded the slash in a cookie. */
function decoded(cookie: string | undefined): string | undefined {
  return cookie?.replace(/%2f/gi, '/')
}
