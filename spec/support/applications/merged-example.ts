/** The comment of an example that stands for the generated handlers. Its own methods follow. */
const MARKER = 'generator wrote.\n'

/** Whether an example is a generated file with further methods. */
export function isAddition(example: string): boolean {
  return example.includes(MARKER)
}

/** A generated file of a resource with the imports, the decorators and the further or changed methods of an example. */
export function withMethods(generated: string, example: string): string {
  const [head = '', methods = ''] = example.split(/^ *\/\/ .* generator wrote\.\n/m)
  const isKept = (method: string) => !methods.includes(/^ {2}async \w+\(/m.exec(method)?.[0] ?? '  async ?')
  const handlers = generated
    .slice(generated.indexOf('{\n', generated.indexOf('export class')) + 2)
    .split(/(?<=^ {2}}\n)\n/m)
    .filter(isKept)
    .join('\n')
  return `${head}${handlers.replace(/\n}\n$/, `\n${methods}`)}`
}
