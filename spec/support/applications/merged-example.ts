/** The comment of an example that stands for the generated handlers. Its own methods follow. */
const MARKER = 'generator wrote.\n'

/** Whether an example is a generated file with further methods. */
export function isAddition(example: string): boolean {
  return example.includes(MARKER)
}

/** A generated file of a resource with the imports and the further or changed methods of an example. */
export function withMethods(generated: string, example: string): string {
  const imports = example.slice(0, example.indexOf('\n\n'))
  const methods = example.slice(example.indexOf(MARKER) + MARKER.length)
  const isKept = (method: string) => !methods.includes(/^ {2}async \w+\(/m.exec(method)?.[0] ?? '  async ?')
  const handlers = generated
    .slice(generated.indexOf('/** Serves'))
    .split(/(?<=^ {2}}\n)\n/m)
    .filter(isKept)
    .join('\n')
  return `${imports}\n\n${handlers.replace(/\n}\n$/, `\n${methods}`)}`
}
