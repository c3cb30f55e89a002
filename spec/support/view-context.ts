import { frameworkCatalog } from '../../src/translations/catalog.js'
import type { ViewContext } from '../../src/views/view-context.js'

/** The context of a page, with the framework's own texts and the values of a spec. */
export function viewContext(own: Partial<ViewContext> = {}): ViewContext {
  return {
    t: (id, values) => frameworkCatalog().translate('en-US', id, values) ?? id,
    locale: 'en-US',
    timeZone: 'UTC',
    csrfToken: 'token',
    paths: {},
    asset: (name) => `/${name}`,
    flash: [],
    currentUrl: '/posts',
    ...own,
  }
}
