/** The reserved words of JavaScript modules, and other names that a module must not declare. */
const keywords = words(`
  arguments await break case catch class const continue debugger default delete do else enum eval export extends
  false finally for function if implements import in instanceof interface let new null package private protected
  public return static super switch this throw true try typeof undefined var void while with yield
`)

/** The names that every record, every object or every form already has. */
export const reservedAttributes: ReadonlySet<string> = new Set([
  ...keywords,
  ...words('id created_at updated_at validateCreate validateUpdate stampInsert stampUpdate'),
  ...Object.getOwnPropertyNames(Object.prototype),
  ...words('prototype _method authenticity_token'),
  // The id of the heading "Edit post" is post.edit.
  'edit',
])

/**
 * The helpers of templates, and the variables of generated handlers and templates. The variable of a record has another
 * name than these: `labelRecord`.
 */
export const templateNames: ReadonlySet<string> = new Set([
  ...words('ctx errors path pagination form where'),
  ...words(
    'asset locale currentUrl t label time display paginator formFor hiddenFields actionButton deleteButton',
  ),
  ...words(
    'filterForm sortLink emptyList can flashMessages collectionLinks nestedLinks of block attributes locals',
  ),
])

/**
 * The names that a resource must not have: classes that the files import, and global ones. In the generated files, such a
 * name would have two meanings. `xml` isn't a valid name of an XML element.
 */
export const reservedResources: ReadonlySet<string> = new Set([
  ...keywords,
  ...words('xml'),
  ...words('resource baseResource parent context sortByLabel model present validationErrors'),
  ...words('column entity joinColumn manyToOne relation entityManager migration'),
  ...words('object string number boolean date promise error constructor prototype'),
])

function words(text: string): string[] {
  return text.trim().split(/\s+/)
}
