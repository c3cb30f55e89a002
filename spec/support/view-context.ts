import { frameworkCatalogue } from '../../src/translations/catalogue.js'
import type { ViewContext } from '../../src/views/view-context.js'

/** What a page knows of its request, with the framework's own texts and what a spec is about. */
export function viewContext(own: Partial<ViewContext> = {}): ViewContext {
  return {
    t: (id, values) => frameworkCatalogue().translate('en-US', id, values) ?? id,
    locale: 'en-US',
    csrfToken: 'token',
    paths: {},
    flash: [],
    currentUrl: '/posts',
    ...own,
  }
}
