/** The rules by which names count as secret. */
export interface NameRules {
  /** Strings that may be anywhere in a name, however it is written: `secret` is in `clientSecrets`. */
  parts?: readonly string[]
  /** Beginnings of a word that is not the first one: `key` is in `apiKey`, not in `keyboard` or `monkey`. */
  laterWords?: readonly string[]
  /** Whole words: `pin` is in `cardPin` and `user[pin]`, and not in `shipping`. */
  words?: readonly string[]
  /** Whole names: `code` is the code of a sign-in, and `country_code` is not. */
  names?: readonly string[]
}

/** The words in names of attributes that the generator keeps out of pages, forms and responses. */
const attributeWords = 'password secret token digest'.split(' ')

/** Words that are secret on their own. */
const secretWords =
  'ssn otp totp mfa pin pass pwd pw auth bearer card iban jwt signature sig cookie cookies mnemonic seed credentials'

/** The names whose values the log hides: the list of Rails without email, and words that are secret alone. */
export const secretNames = {
  parts: (
    'passw passphrase secret token crypt salt certificate cvv cvc apikey authorization creditcard ' +
    '2fa recoverycode backupcode verificationcode'
  ).split(' '),
  laterWords: ['key'],
  words: [...attributeWords, ...secretWords.split(' ')],
  names: ['code', 'session'],
}

/**
 * Returns a function that tests whether a name is secret. How a name separates its words does not matter:
 * `userPin`, `user_pin`, `user[pin]` and `User-PIN` are the same.
 *
 * @example nameMatcher({ words: ['pin'] })('cardPin') // true
 */
export function nameMatcher({ parts = [], laterWords = [], words = [], names = [] }: NameRules) {
  const bareParts = parts.map(bareName)
  return (name: string): boolean => {
    const bare = bareName(name)
    const nameWords = wordsOf(name)
    return (
      names.includes(bare) ||
      bareParts.some((part) => bare.includes(part)) ||
      nameWords.some((word) => words.includes(word)) ||
      nameWords.slice(1).some((word) => laterWords.some((beginning) => word.startsWith(beginning)))
    )
  }
}

/** Whether an attribute is generated as a secret: `password_digest`, `api_token`, and not `secretary`. */
export const isSecretAttribute = nameMatcher({ words: attributeWords })

/** A name in lower case without separators: `userPassword` and `user[password]` are the same. */
export function bareName(name: string): string {
  return name
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]/gu, '')
}

/** Where a word of a name ends without a separator: `user|SSN`, `SSN|Number`, `pin|2`. */
const wordEnd = /(?<=\p{Ll})(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})|(?<=\p{L})(?=\p{N})|(?<=\p{N})(?=\p{L})/gu

/** The words of a name in lower case. */
function wordsOf(name: string): string[] {
  const separated = name.normalize('NFKC').replaceAll(wordEnd, ' ')
  return separated.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
}
