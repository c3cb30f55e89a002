/** The reserved words of JavaScript modules, and other names that a module must not declare. */
const keywords = words(`
  arguments await break case catch class const continue debugger default delete do else enum eval export extends
  false finally for function if implements import in instanceof interface let new null package private protected
  public return static super switch this throw true try typeof undefined var void while with yield
`)

const javaScript = 'it is a reserved word of JavaScript'

/** The names that an attribute must not have, with the reason. */
export const reservedAttributes: ReadonlyMap<string, string> = new Map([
  ...because('every object has a member of this name', [
    ...Object.getOwnPropertyNames(Object.prototype),
    'prototype',
  ]),
  ...because(javaScript, keywords),
  ...because('every record has it already', words('id created_at updated_at')),
  ...because(
    'every model has a method of this name',
    words('validateCreate validateUpdate setGeneratedColumns stampUpdate'),
  ),
  ...because('forms send a field of this name', words('_method authenticity_token idempotency_key')),
  ...because('the heading of the page that edits a record has the same translation id', ['edit']),
])

/**
 * The helpers of templates, and the variables of generated handlers and templates. The variable of a record has another
 * name than these: `labelRecord`.
 */
export const templateNames: ReadonlySet<string> = new Set([
  ...words('ctx errors path pagination form where pug'),
  ...words(
    'asset locale currentUrl t label time display paginator formFor hiddenFields actionButton deleteButton',
  ),
  ...words(
    'dir filterForm sortLink emptyList bulkForm bulkBox can flashMessages collectionLinks nestedLinks of block attributes locals',
  ),
])

/** The variables of generated specs. The variable of a record has another name than these: `pageRecord`. */
export const specNames: ReadonlySet<string> = new Set(
  words(
    'expect describeResource client factory isolate signIn signOut owner given newer response it describe before',
  ),
)

/** The names that a resource or a model must not have, with the reason. */
export const reservedResources: ReadonlyMap<string, string> = new Map([
  ...because(javaScript, keywords),
  ...because('the generated files import a class or a function of this name', [
    ...words('resource baseResource parent context model present relationIds validationErrors'),
    ...words(
      'column entity exclude index joinColumn joinTable manyToMany manyToOne relation entityManager migration versionColumn',
    ),
  ]),
  ...because('the generated specs use a type of this name', ['partial']),
  ...because(
    'JavaScript has a class or a property of this name',
    words('object string number boolean date promise error constructor prototype'),
  ),
])

/** The reason why an attribute or a resource must not have a name that begins with "xml" (XML 1.0, section 2.3). */
export function reservedInXml(name: string): string | undefined {
  return /^xml/i.test(name) ? 'an element of XML cannot have this name' : undefined
}

/** The entries of names with the same reason. */
function because(reason: string, names: readonly string[]): [name: string, reason: string][] {
  return names.map((name) => [name, reason])
}

function words(text: string): string[] {
  return text.trim().split(/\s+/)
}
