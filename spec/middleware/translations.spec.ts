import { mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { pino } from 'pino'
import { App, translations, type Context, type TranslationsOptions } from '../../src/index.js'
import { BrokenTranslations } from '../../src/errors.js'
import { writeLocales } from '../support/locales.js'
import { Site } from '../support/site.js'
import { inFolder } from '../support/temporary-folder.js'

const logger = pino({ level: 'silent' })
const hello = (ctx: Context) => void (ctx.body = ctx.t('hello', { name: 'Anna' }))

const files = {
  'a.en-us.yaml': { hello: 'Hello {{name}}' },
  'a.de.yaml': { hello: 'Hallo {{name}}' },
  'a.fr.yaml': { hello: 'Bonjour {{name}}' },
}

async function withSite(
  options: TranslationsOptions & { env?: string },
  work: (site: Site, folder: string) => Promise<void>,
): Promise<void> {
  await inFolder(async (folder) => {
    await writeLocales(folder, files)
    const app = new App({ env: options.env ?? 'test', logger })
    app.get('/before', (ctx) => void (ctx.body = ctx.t('kit.save')))
    app.use(translations(folder, options))
    app.get('/', hello)
    app.get('/plain', (ctx) => void (ctx.body = 'plain'))
    app.get('/missing', (ctx) => void (ctx.body = ctx.t('no.such.id', { name: 'Anna' })))
    app.get('/in/{lang}', (ctx) => {
      ctx.locale = ctx.params['lang'] ?? ''
      ctx.body = `${ctx.locale} ${ctx.t('hello', { name: 'Anna' })} ${ctx.t('day', { day: new Date(0) })}`
    })
    app.get('/page', (ctx) => ctx.render('error', { status: 404, title: 'Not Found' }))
    app.put('/lang/{lang}', (ctx) => {
      Object.assign(ctx.session, { lang: ctx.params['lang'] })
      hello(ctx)
    })
    const site = await Site.open(app)
    try {
      await work(site, folder)
    } finally {
      await site.close()
    }
  })
}

const german = { headers: { 'accept-language': 'de-CH, en;q=0.5' } }

describe('translations(folder)', () => {
  it('reads the locale from the cookie, the session or Accept-Language, or uses en-US', () =>
    withSite({}, async (site) => {
      const texts = [
        await site.get('/'),
        await site.get('/', german),
        await site.put('/lang/fr'),
        await site.get('/', german),
        await site.get('/', { headers: { ...german.headers, cookie: 'lang=de' } }),
        await site.get('/', { headers: { ...german.headers, cookie: 'lang=tlh' } }),
      ].map(({ text }) => text)
      expect(texts).to.deep.equal([
        'Hello Anna',
        'Hallo Anna',
        'Bonjour Anna',
        'Bonjour Anna',
        'Hallo Anna',
        'Hallo Anna',
      ])
    }))

  it('replaces an assigned locale by the closest available one, or by the fallback', () =>
    withSite({}, async (site) => {
      const texts = []
      for (const lang of ['de', 'FR', 'de-u-ca-buddhist', 'de-x-a1', 'it', 'xx_YY', 'a"b', '--', '__proto__'])
        texts.push((await site.get(`/in/${encodeURIComponent(lang)}`)).text)
      const english = 'en-US Hello Anna day'
      const expected = ['de Hallo Anna day', 'fr Bonjour Anna day', 'de Hallo Anna day', 'de Hallo Anna day']
      expect(texts).to.deep.equal([...expected, english, english, english, english, english])
    }))

  it('chooses the locale without translations(), too', async () => {
    const app = new App({ logger })
    app.get('/in/{lang}', (ctx) => {
      ctx.locale = ctx.params['lang'] ?? ''
      ctx.body = `${ctx.locale} ${ctx.t('kit.save')}`
    })
    app.get('/', (ctx) => void (ctx.body = ctx.locale))
    const site = await Site.open(app)
    for (const [path, text] of Object.entries({
      '/in/de-AT': 'de Speichern',
      '/in/a%22b': 'en-US Save',
      '/': 'en-US',
    }))
      expect((await site.get(path)).text).to.equal(text)
    await site.close()
  })

  it('shows an id without a translation as itself', () =>
    withSite({}, async (site) => {
      expect((await site.get('/missing')).text).to.equal('no.such.id')
    }))

  it('gives each of many concurrent requests its own language', () =>
    withSite({}, async (site) => {
      const expected = ['Hello Anna', 'Hallo Anna', 'Bonjour Anna']
      const responses = await Promise.all(
        Array.from({ length: 60 }, (_, index) =>
          site.get('/', { headers: { 'accept-language': ['en', 'de', 'fr'][index % 3] ?? '' } }),
        ),
      )
      expect(responses.map(({ text }) => text)).to.deep.equal(
        responses.map((_, index) => expected[index % 3]),
      )
    }))

  it('sets Vary where the locale matters, and Content-Language for pages', () =>
    withSite({}, async (site) => {
      const { headers } = await site.get('/page', german)
      expect(headers.get('vary')).to.equal('Accept-Language, Cookie')
      expect(headers.get('content-language')).to.equal('de')
      const plain = await site.get('/plain', german)
      expect([plain.headers.get('vary'), plain.headers.get('content-language')]).to.deep.equal([null, null])
    }))

  it('translates error pages of unknown paths, and of routes without translations', () =>
    withSite({}, async (site) => {
      const unknown = await site.get('/nope', german)
      expect([unknown.status, unknown.headers.get('content-language')]).to.deep.equal([404, 'de'])
      expect(unknown.text).to.contain('<html lang="de">').and.to.contain('<h1>Hier ist nichts</h1>')
      expect((await site.get('/before', german)).text).to.equal('Speichern')
    }))

  it('offers only the languages in which the application has texts', () =>
    inFolder(async (folder) => {
      await writeLocales(folder, { 'a.en-us.yaml': { hello: 'Hello {{name}}' } })
      const app = new App({ logger })
      app.use(translations(folder))
      app.get('/', (ctx) => void (ctx.body = `${ctx.t('hello', { name: 'Anna' })} ${ctx.t('kit.save')}`))
      const site = await Site.open(app)
      const response = await site.get('/', german)
      expect(response.text).to.equal('Hello Anna Save')
      expect(response.headers.get('vary')).to.equal(null)
      await site.close()
    }))

  it('uses a configured fallback', () =>
    withSite({ fallback: 'de' }, async (site) => {
      expect((await site.get('/', { headers: { 'accept-language': 'it' } })).text).to.equal('Hallo Anna')
    }))

  it('stops the start if a file is broken', () =>
    inFolder(async (folder) => {
      await writeLocales(folder, { 'a.de.yaml': '- id: a\n- id: b' })
      expect(() => translations(folder)).to.throw(
        `${folder}/a.de.yaml, line 1: The translation of "a" must be text`,
      )
    }))

  const unreadable: [what: string, write: (file: string) => Promise<unknown>, problem: RegExp][] = [
    ['is a directory', (file) => mkdir(file), /a\.de\.yaml, line 1: .*EISDIR/],
    ['is a dangling link', (file) => symlink(`${file}.gone`, file), /a\.de\.yaml, line 1: .*ENOENT/],
    [
      'is not in UTF-8',
      (file) => writeFile(file, Buffer.from('- id: a\n  translation: "\xfc"\n', 'latin1')),
      /a\.de\.yaml, line 1: The file is not encoded in UTF-8./,
    ],
    [
      'has a word that is misspelt',
      (file) => writeFile(file, '- id: a\n  translation: b\n- id: c\n  translation: d\n  traslation: e\n'),
      /a\.de\.yaml, line 3: The entry "c" has an unknown key "traslation"/,
    ],
    [
      'has a misspelt word alone',
      (file) => writeFile(file, '- id: a\n  traslation: b\n'),
      /a\.de\.yaml, line 1: The entry "a" has an unknown key "traslation"/,
    ],
  ]
  for (const [what, write, problem] of unreadable) {
    it(`stops the start if a file ${what}`, () =>
      inFolder(async (folder) => {
        await write(join(folder, 'a.de.yaml'))
        expect(() => translations(folder)).to.throw(BrokenTranslations, problem)
      }))
  }

  describe('in development', () => {
    it('reloads files that are changed, added or removed', () =>
      withSite({ reload: true }, async (site, folder) => {
        const text = async (request = german) => (await site.get('/', request)).text
        expect(await text()).to.equal('Hallo Anna')
        await writeLocales(folder, { 'a.de.yaml': { hello: 'Servus {{name}}' } })
        expect(await text()).to.equal('Servus Anna')
        await mkdir(join(folder, 'deep'))
        await writeLocales(folder, { 'deep/b.it.yaml': { hello: 'Ciao {{name}}' } })
        expect(await text({ headers: { 'accept-language': 'it' } })).to.equal('Ciao Anna')
        await rm(join(folder, 'a.de.yaml'))
        expect(await text()).to.equal('Hello Anna')
      }))

    it('shows the error of a broken file, and continues when the file is corrected', () =>
      withSite({ reload: true, env: 'development' }, async (site, folder) => {
        await writeFile(join(folder, 'a.de.yaml'), '- id: hello\n  translation: "open\n')
        for (const path of ['/', '/', '/missing']) {
          const response = await site.get(path, german)
          expect(response.status).to.equal(500)
          expect(response.text).to.contain('BrokenTranslations').and.to.contain('a.de.yaml, line 3')
        }
        expect((await site.get('/nope', german)).status).to.equal(404)
        expect((await site.get('/kit.css')).status).to.equal(200)
        await writeLocales(folder, { 'a.de.yaml': { hello: 'Moin {{name}}' } })
        expect((await site.get('/', german)).text).to.equal('Moin Anna')
      }))

    it('keeps the loaded texts if reloading is off', () =>
      withSite({ reload: false }, async (site, folder) => {
        await writeLocales(folder, { 'a.de.yaml': { hello: 'Servus {{name}}' } })
        expect((await site.get('/', german)).text).to.equal('Hallo Anna')
      }))
  })
})
