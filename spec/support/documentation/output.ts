/** An output as a page shows it: `…` stands for any text without a quotation mark. */
export function patternOf(documented: string): RegExp {
  const literals = documented
    .split('…')
    .map((text) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`))
  return new RegExp(`^${literals.join('[^"]*')}\\s*$`)
}

/** The words of a command line, without their quotation marks. */
export function wordsOf(line: string): string[] {
  const words = line.match(/"[^"]*"|'[^']*'|\S+/g) ?? []
  return words.map((word) => word.replaceAll(/^["']|["']$/g, ''))
}

/** Sends the request that curl would send with these arguments to an application at another address. */
export async function sendByCurl(args: readonly string[], address: string): Promise<string> {
  const valuesOf = (option: string) => args.filter((_, index) => args[index - 1] === option)
  const [body] = valuesOf('-d')
  const [method = body === undefined ? 'GET' : 'POST'] = valuesOf('-X')
  const { pathname, search } = new URL(args.at(-1) ?? '')
  const response = await fetch(address + pathname + search, {
    method,
    headers: valuesOf('-H').map((header) => header.split(': ')) as [string, string][],
    ...(body !== undefined && { body }),
  })
  return response.text()
}
