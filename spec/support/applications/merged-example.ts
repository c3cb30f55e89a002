/** The comment of an example that stands for the generated handlers. Its own methods follow. */
const MARKER = 'generator wrote.\n'

/** Whether an example is a generated file with further methods. */
export function isAddition(example: string): boolean {
  return example.includes(MARKER)
}

/** A generated file of a resource with the imports and the further methods of an example. */
export function withMethods(generated: string, example: string): string {
  const imports = example.slice(0, example.indexOf('\n\n'))
  const methods = example.slice(example.indexOf(MARKER) + MARKER.length)
  const handlers = generated.slice(generated.indexOf('/** Serves'))
  return `${imports}\n\n${handlers.replace(/\n}\n$/, `\n${methods}`)}`
}
