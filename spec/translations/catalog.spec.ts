import { join } from 'node:path'
import { expect } from 'chai'
import { BrokenTranslations, DeclarationError } from '../../src/errors.js'
import { Catalog, frameworkCatalog } from '../../src/translations/catalog.js'
import { writeLocales } from '../support/locales.js'
import { inFolder } from '../support/temporary-folder.js'

type Files = Parameters<typeof writeLocales>[1]

function withCatalog(files: Files, work: (catalog: Catalog) => void): Promise<void> {
  return inFolder(async (folder) => work(new Catalog(await writeLocales(folder, files))))
}

/** The errors of files, as the message lists them after its folder. */
function complaint(files: Files): Promise<string> {
  return inFolder(async (folder) => {
    await writeLocales(folder, files)
    try {
      return `none: ${new Catalog(folder).locales.join()}`
    } catch (error) {
      expect(error).to.be.instanceOf(BrokenTranslations)
      return String(error).replaceAll(`${folder}/`, '').replace('BrokenTranslations: ', '')
    }
  })
}

describe('new Catalog(folder)', () => {
  it('reads every file of the folder and its subfolders, except hidden ones', () =>
    withCatalog(
      {
        'posts.en-us.yaml': { 'post.title': 'Title' },
        'admin/widgets.de.yml': { 'widget.title': 'Name' },
        '.#posts.de.yaml': '{{{',
        'posts.de.yaml~': '{{{',
        'README.md': '# Texts',
        'empty.fr.yaml': '# nothing yet\n',
      },
      (catalog) => {
        expect(catalog.locales).to.have.members(['en-US', 'de', 'fr'])
        expect(catalog.translate('en-US', 'post.title')).to.equal('Title')
        expect(catalog.translate('de', 'widget.title')).to.equal('Name')
      },
    ))

  it('finds a text in the locale, in its language or in en-US, in this order', () =>
    withCatalog(
      {
        'a.de-ch.yaml': { street: 'Strasse' },
        'a.de.yaml': { street: 'Straße', hello: 'Hallo' },
        'a.en-us.yaml': { street: 'Street', hello: 'Hello', bye: 'Bye' },
        'a.en.yaml': { colour: 'Colour' },
      },
      (catalog) => {
        const texts = ['street', 'hello', 'bye', 'colour', 'nothing'].map((id) =>
          catalog.translate('de-CH', id),
        )
        expect(texts).to.deep.equal(['Strasse', 'Hallo', 'Bye', 'Colour', undefined])
        expect([catalog.has('de-CH', 'bye'), catalog.has('de-CH', 'nothing')]).to.deep.equal([true, false])
        expect(catalog.translate('xx', 'hello')).to.equal('Hello')
      },
    ))

  it('treats an empty text as missing', () =>
    withCatalog(
      {
        'a.de.yaml':
          "- id: hello\n  translation: ''\n- id: posts\n  translation: { one: '', other: '' }\n- id: bye\n  translation: Tschüss\n",
        'a.en-us.yaml': { hello: 'Hello', posts: 'Posts' },
      },
      (catalog) => {
        const texts = ['hello', 'posts', 'bye'].map((id) => catalog.translate('de', id, { count: 1 }))
        expect(texts).to.deep.equal(['Hello', 'Posts', 'Tschüss'])
      },
    ))

  it('chooses the plural form by the language and the value `count`', () =>
    withCatalog(
      {
        'a.en-us.yaml':
          '- id: posts\n  translation: { zero: No posts, one: One post, other: "{{count}} posts" }\n- id: plain\n  translation: { one: one, other: other }\n',
        'a.pl.yaml':
          '- id: posts\n  translation: { one: wpis, few: "{{count}} wpisy", many: "{{count}} wpisów", other: "{{count}} wpisu" }\n',
      },
      (catalog) => {
        const posts = (locale: string, count: unknown) => catalog.translate(locale, 'posts', { count })
        expect([0, 1, 2, '1'].map((count) => posts('en-US', count))).to.deep.equal([
          'No posts',
          'One post',
          '2 posts',
          'One post',
        ])
        expect([1, 2, 5, 22, 1.5].map((count) => posts('pl', count))).to.deep.equal([
          'wpis',
          '2 wpisy',
          '5 wpisów',
          '22 wpisy',
          '1.5 wpisu',
        ])
        expect([
          catalog.translate('en-US', 'plain'),
          catalog.translate('en-US', 'plain', { count: 0 }),
        ]).to.deep.equal(['other', 'other'])
      },
    ))

  it('overrides texts of its base, locale by locale', () =>
    inFolder(async (folder) => {
      await writeLocales(folder, { 'own.de.yaml': { 'kit.save': 'Sichern' } })
      const catalog = new Catalog(folder, { base: frameworkCatalog() })
      expect(['de', 'en-US', 'fr'].map((locale) => catalog.translate(locale, 'kit.save'))).to.deep.equal([
        'Sichern',
        'Save',
        'Enregistrer',
      ])
      expect(catalog.locales).to.deep.equal(['de'])
      expect(frameworkCatalog().translate('de', 'kit.save')).to.equal('Speichern')
    }))

  const broken: [what: string, files: Files, complaint: string | RegExp][] = [
    [
      'YAML that cannot be read',
      { 'a.de.yaml': '- id: a\n  translation: "b\n- id: c' },
      /^a\.de\.yaml, line 3: Missing closing "quote/,
    ],
    [
      'a map in place of the list',
      { 'a.de.yaml': 'a: b' },
      'a.de.yaml, line 1: The file must be a list of entries with "id" and "translation".',
    ],
    [
      'an entry without an id',
      { 'a.de.yaml': '- id: a\n  translation: b\n\n- translation: c' },
      'a.de.yaml, line 4: Each entry needs an "id" and a "translation".',
    ],
    [
      'a translation that YAML takes for something else',
      { 'a.de.yaml': '# true\n- id: a\n  translation: true' },
      'a.de.yaml, line 2: The translation of "a" must be text. Put it in quotes if YAML reads it as another type.',
    ],
    [
      'an unknown plural form',
      { 'a.de.yaml': '- id: a\n  translation: { one: b, ohter: c }' },
      `a.de.yaml, line 1: "ohter" of "a" isn't a plural form. Use zero, one, two, few, many, other.`,
    ],
    [
      'plural forms without the last resort',
      { 'a.de.yaml': '- id: a\n  translation: { one: b }' },
      'a.de.yaml, line 1: The plural form "other" of "a" is missing.',
    ],
    [
      'an alias of nothing',
      { 'a.de.yaml': '- id: a\n  translation: *b' },
      /^a\.de\.yaml, line \d: Unresolved alias/,
    ],
    [
      'an id twice in a file',
      {
        'a.de.yaml': { a: 'b', c: 'd' },
        'b.de.yaml': '- id: x\n  translation: y\n- id: x\n  translation: z',
      },
      'b.de.yaml, line 3: The id "x" already exists in line 1.',
    ],
    [
      'an id in two files of a locale',
      { 'a.de.yaml': { a: 'b', c: 'd' }, 'b.de.yaml': { c: 'e' }, 'c.fr.yaml': { a: 'b' } },
      'b.de.yaml, line 1: The id "c" already exists in a.de.yaml, line 3.',
    ],
    [
      'a file without a locale in its name',
      { 'posts.yaml': '' },
      'posts.yaml, line 1: The file name has no locale. Name it like posts.en-us.yaml.',
    ],
    ['an invalid locale', { 'a.de-x.yaml': '' }, /^a\.de-x\.yaml, line 1: The file name has no locale/],
  ]
  for (const [what, files, expected] of broken) {
    it(`rejects ${what}, with file and line`, async () => {
      const actual = await complaint(files)
      if (typeof expected === 'string') expect(actual).to.equal(expected)
      else expect(actual).to.match(expected)
    })
  }

  it('reads the files of a locale when it is first used, if it is lazy', () =>
    inFolder(async (folder) => {
      await writeLocales(folder, { 'a.en-us.yaml': { hello: 'Hello' }, 'a.de.yaml': '{{{' })
      const catalog = new Catalog(folder, { isLazy: true })
      expect(catalog.translate('en-US', 'hello')).to.equal('Hello')
      expect(() => catalog.translate('de', 'hello')).to.throw(BrokenTranslations)
    }))

  it('rejects a missing folder', () =>
    inFolder(async (folder) => {
      expect(() => new Catalog(join(folder, 'locales'))).to.throw(
        DeclarationError,
        `The translations folder ${folder}/locales does not exist.`,
      )
    }))
})

const texts = (locale: string): ReadonlyMap<string, unknown> =>
  frameworkCatalog()['textsOf'](locale) ?? new Map()
const placeholders = (translation: unknown) =>
  [...new Set(JSON.stringify(translation).match(/\{\{\w+\}\}/g))].toSorted()

describe("The framework's own texts", () => {
  const locales = ['en-US', 'de', 'fr', 'es']
  it('exist in English, German, French and Spanish', () => {
    expect(frameworkCatalog().locales).to.have.members(locales)
  })

  for (const locale of locales.slice(1)) {
    it(`have the same ids in ${locale} as in en-US, with the same placeholders`, () => {
      const [own, english] = [texts(locale), texts('en-US')]
      expect([...own.keys()]).to.deep.equal([...english.keys()])
      for (const [id, translation] of english) {
        expect(placeholders(own.get(id)), id).to.deep.equal(placeholders(translation))
        expect(typeof own.get(id), id).to.equal(typeof translation)
      }
    })
  }
})
