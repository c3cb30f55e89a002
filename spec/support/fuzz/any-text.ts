import * as fc from 'fast-check'

/** Texts of any characters. `fc.string({ unit: 'binary' })` is the same, and takes a second to make a table of all characters. */
export function anyText(maxLength: number): fc.Arbitrary<string> {
  return fc.string({ unit: character, maxLength })
}

/** The first half of a surrogate pair, and the number of all halves. */
const SURROGATE = 0xd800
const SURROGATES = 0x800

const character = fc.nat(0x10ffff - SURROGATES).map(
  (number) => String.fromCodePoint(number < SURROGATE ? number : number + SURROGATES),
  (text) => {
    const [first, ...others] = Array.from(String(text), (one) => one.codePointAt(0) ?? 0)
    if (first === undefined || others.length > 0 || !String(text).isWellFormed())
      throw new Error('This is not one character.')
    return first < SURROGATE ? first : first - SURROGATES
  },
)
