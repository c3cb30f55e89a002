import { PerRequest } from '../common/per-request.js'
import type { Catalog } from './catalog.js'

/** The locale choice of a request. */
export interface LocaleChoice {
  /** Chooses the locale that the request asks for. */
  choose(): string
  /** Finds the locale for a text, which may come from a user. */
  match(wanted: string): string
}

interface State extends LocaleChoice {
  locale: string | undefined
}

const states = new PerRequest<State>()

const catalogs = new PerRequest<Catalog>()

/** Returns the texts of a request, or undefined if none were set. */
export function catalogOf(ctx: object): Catalog | undefined {
  return catalogs.get(ctx)
}

/** Sets the texts of a request. */
export function setCatalog(ctx: object, catalog: Catalog): void {
  catalogs.set(ctx, catalog)
}

/** Sets the function that chooses a request's locale on first use. */
export function setLocaleChooser(ctx: object, { choose, match }: LocaleChoice): void {
  states.set(ctx, { choose, match, locale: undefined })
}

/** Returns the locale of a request, or undefined if nothing chooses one. */
export function requestLocale(ctx: object): string | undefined {
  const state = states.get(ctx)
  return state && (state.locale ??= state.choose())
}

/** Sets the locale of a request. */
export function assignLocale(ctx: object, wanted: string, match: (wanted: string) => string): void {
  const state = states.get(ctx)
  if (state) states.set(ctx, { ...state, locale: state.match(wanted) })
  else {
    const locale = match(wanted)
    setLocaleChooser(ctx, { choose: () => locale, match })
  }
}
