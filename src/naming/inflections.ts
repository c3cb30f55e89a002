import { pluralize, singularize } from 'inflection'

/** Words whose plural follows no rule, and words that the rules of the inflection library get wrong. */
const irregular = new Map(
  `alumnus alumni, axis axes, bacillus bacilli, base bases, cache caches, cactus cacti, canvas canvases,
  cookie cookies, corpus corpora, die dice, echo echoes, ellipse ellipses, embargo embargoes, fez fezzes,
  fungus fungi, genus genera, hero heroes, lens lenses, locus loci, modulus moduli, nucleus nuclei,
  quiz quizzes, radius radii, stimulus stimuli, taxi taxis, topaz topazes, torpedo torpedoes, veto vetoes,
  whiz whizzes`
    .split(/,\s+/)
    .map((pair) => pair.split(' ') as [singular: string, plural: string]),
)

/** Words whose plural is the same word. The acronyms end with an "s" of their own. */
const unchanging = words(
  'chaos chassis corps debris headquarters kudos police pyjamas series species tennis triceps trousers',
  'wildlife',
  'aws cms css dns gps https ios os pos rss sms tls',
)

/** Words that end with "man" and become "men", without this ending. Others, such as "human", add "s". */
const men = pattern(
  '^(?:$)m[ae]n$',
  'alder anchor business camera chair clergy congress council country crafts door fire fisher fore gentle',
  'guards handy lay middle milk news noble ombuds police post repair sales service snow spokes sports states',
  'trades watch work',
)

/** Singular words whose "s" at the end does not make a plural, besides those that end with "us". */
const endingInS = words(
  'asbestos atlas bias christmas cosmos ethos gas iris pancreas pathos pelvis penis rhinoceros thermos',
)

/** Plurals of words that end with "u". All other words that end with "us" are singular. */
const pluralsInUs = pattern(
  '[ao]us$|(?:[ei]e|ea|men)us$|^(?:$)us$',
  'cp ec em fl gn gp gur haik kud nunchak shiats sk sudok tof tut wagy yuz zeb zul',
)

/** Words with "ie" at the end: the singular of all other plurals with "ies" ends with "y". */
const endingInIe = words(
  'aerie birdie boogie bookie bowtie brownie budgie calorie camaraderie collie coterie cowrie cutie eyrie',
  'foodie freebie genie goalie goodie groupie hippie hoodie indie junkie laddie lie lingerie magpie',
  'menagerie movie necktie newbie nightie oldie organdie pie pinkie pixie prairie quickie reverie rookie',
  'rotisserie selfie smoothie sortie sweetie talkie techie tie toughie townie untie veggie walkie wedgie',
  'yuppie zombie',
)

/** Words with "oe" at the end: the singular of all other plurals with "oes" ends with "o". */
const endingInOe = words('aloe canoe doe floe foe hoe horseshoe oboe roe shoe sloe snowshoe tiptoe toe woe')

/** Words with "f" or "fe" that become "ves". All others with "f" or "fe" add "s". */
const becomingVes = pattern(
  '(?:$)$|^elf$|^(?:book|her|him|it|my|your)?sh?elf$|^(?:after|bird|folk|half|high|low|mid|night)?life$',
  'calf half wolf leaf loaf thief sheaf scarf wharf dwarf knife wife',
)

/** The plurals of words with "use", whose "s" does not belong to the ending "us". */
const pluralsOfUse = pattern(
  '(?:ou|au|fu)ses$|^(?:re|mis|dis|over|multi)?uses$|^(?:$)es$',
  'mus rus excus abus reclus hypotenus masseus',
)

/** The plurals of words with "sis". */
const pluralsOfSis = pattern(
  '(?:$)ses$|^(?:cri|oa|gene|sep)ses$',
  'analy paraly dialy cataly diagno progno hypno synop empha cathar morpho psycho neuro symbio the neme',
)

/** Plurals with "ta": all other words with "ta" are singular. */
const pluralsInTa = pattern('(?:$)ta$', 'da stra erra quan momen desidera sep dic ultima facto')

/** Singular words with "ia": all others are plurals of words with "ium". */
const singularInIa = words(
  'academia ammonia amnesia anemia aria begonia cafeteria dahlia dementia encyclopedia euphoria fuchsia',
  'gardenia hernia hysteria inertia insomnia mafia magnolia malaria mania militia nostalgia petunia phobia',
  'pizzeria pneumonia sepia tibia utopia wisteria',
)

const singulars = new Map([
  ...Array.from(irregular, ([singular, plural]) => [plural, singular] as const),
  ...Array.from(endingInS, (word) => [`${word}es`, word] as const),
])

/** Returns the plural of a word: `post` -> `posts`. */
export function pluralOf(word: string): string {
  const known = irregular.get(word) ?? (unchanging.has(word) ? word : undefined)
  if (known !== undefined) return known
  if (isSingularInS(word)) return `${word}es`
  if (becomingVes.test(word)) return word.replace(/fe?$/, 'ves')
  if (men.test(word)) return word.replace(/an$/, 'en')
  if (isSingularInA(word) || /blouse$|lice$/.test(word)) return `${word}s`
  const plural = pluralize(word)
  if (/fe?$/.test(word) && plural.endsWith('ves')) return `${word}s`
  return /[tz]z$/.test(word) && plural === `${word}s` ? `${word}es` : plural
}

/** Returns the singular of a word, and a word that is singular unchanged: `posts` -> `post`. */
export function singularOf(word: string): string {
  const known = singulars.get(word) ?? (unchanging.has(word) || irregular.has(word) ? word : undefined)
  if (known !== undefined) return known
  if (isSingularInS(word) || isSingularInA(word) || /[^dk]lice$/.test(word)) return word
  const stem = word.endsWith('s') ? word.slice(0, -1) : ''
  if (/(?:lices|[^f]fe?s)$/.test(word) || endingInIe.has(stem) || endingInOe.has(stem)) return stem
  if (/(?:[tz]z|us)es$/.test(word)) return pluralsOfUse.test(word) ? stem : word.slice(0, -2)
  if (pluralsOfSis.test(word)) return word.replace(/es$/, 'is')
  if (word.endsWith('ves')) return singularOfVes(word)
  if (men.test(word)) return word.replace(/en$/, 'an')
  return isSingularInA(stem) ? stem : singularize(word)
}

/** `shelves` -> `shelf`, `knives` -> `knife`, `valves` -> `valve` */
function singularOfVes(word: string): string {
  const stem = word.slice(0, -'ves'.length)
  return [`${stem}f`, `${stem}fe`].find((one) => becomingVes.test(one)) ?? `${stem}ve`
}

function isSingularInS(word: string): boolean {
  return endingInS.has(word) || (/.us$/.test(word) && !pluralsInUs.test(word))
}

function isSingularInA(word: string): boolean {
  return singularInIa.has(word) || (word.endsWith('ta') && !pluralsInTa.test(word))
}

function words(...lines: readonly string[]): ReadonlySet<string> {
  return new Set(lines.join(' ').split(' '))
}

/** Makes a regular expression, whose group `(?:$)` matches any of the words. */
function pattern(source: string, ...lines: readonly string[]): RegExp {
  return new RegExp(source.replace('(?:$)', () => `(?:${lines.join(' ').replaceAll(' ', '|')})`))
}
