import { PerRequest } from '../per-request.js'
import type { Catalogue } from './catalogue.js'

/** How a request's locale is found. */
export interface LocaleChoice {
  /** The one that the request asks for. */
  choose(): string
  /** The one that a word means, which may come from a user. */
  match(wanted: string): string
}

interface State extends LocaleChoice {
  locale: string | undefined
}

const states = new PerRequest<State>('locale')

const catalogues = new PerRequest<Catalogue>('catalogue')

/** The texts of a request; undefined when nobody has said which. */
export function catalogueOf(ctx: object): Catalogue | undefined {
  return catalogues.get(ctx)
}

/** Says which texts a request has. */
export function setCatalogue(ctx: object, catalogue: Catalogue): void {
  catalogues.set(ctx, catalogue)
}

/** Says how a request's locale is found, once somebody asks for it. */
export function letChooseLocale(ctx: object, { choose, match }: LocaleChoice): void {
  states.set(ctx, { choose, match, locale: undefined })
}

/** The locale of a request; undefined when nothing chooses one. */
export function requestLocale(ctx: object): string | undefined {
  const state = states.get(ctx)
  return state && (state.locale ??= state.choose())
}

/** Makes a locale that of a request. */
export function assignLocale(ctx: object, wanted: string, match: (wanted: string) => string): void {
  const state = states.get(ctx)
  if (state) state.locale = state.match(wanted)
  else {
    const locale = match(wanted)
    letChooseLocale(ctx, { choose: () => locale, match })
  }
}
