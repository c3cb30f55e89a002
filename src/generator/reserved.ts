/** The reserved words of JavaScript in modules, and what may not be a name there. */
const keywords = words(`
  arguments await break case catch class const continue debugger default delete do else enum eval export extends
  false finally for function if implements import in instanceof interface let new null package private protected
  public return static super switch this throw true try typeof undefined var void while with yield
`)

/** What every record, every object and every form has already. */
export const reservedAttributes: ReadonlySet<string> = new Set([
  ...keywords,
  ...words('id created_at updated_at validateCreate validateUpdate stampInsert stampUpdate'),
  ...Object.getOwnPropertyNames(Object.prototype),
  ...words('prototype _method authenticity_token'),
])

/**
 * What a resource cannot be called, as a variable: variables and helpers of the handlers and templates, classes that the
 * files import, and global ones. In the files that are written the name would stand for two things. `xml` is no name of
 * an element.
 */
export const reservedResources: ReadonlySet<string> = new Set([
  ...keywords,
  ...words('ctx errors path pagination form where'),
  ...words('locale currentUrl t label time display paginator formFor hiddenFields actionButton deleteButton'),
  ...words('flashMessages collectionLinks nestedLinks of block attributes locals xml'),
  ...words('resource baseResource parent context sortByLabel model present validationErrors'),
  ...words('column entity joinColumn manyToOne relation entityManager migration'),
  ...words('object string number boolean date promise error constructor prototype'),
])

function words(text: string): string[] {
  return text.trim().split(/\s+/)
}
