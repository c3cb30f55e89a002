/** So many texts are remembered, and only those that are no longer than this. */
const most = { texts: 100, characters: 300 }

/**
 * Makes a function remember what it has made of the last texts: browsers and clients send few different headers, and want
 * few different languages, each of them many times.
 */
export function remembered<Result>(read: (text: string) => Result): (text: string) => Result {
  const results = new Map<string, Result>()

  return function recall(text) {
    const known = results.get(text)
    if (known !== undefined) return known
    const result = read(text)
    if (results.size === most.texts) results.clear()
    if (text.length <= most.characters) results.set(text, result)
    return result
  }
}
