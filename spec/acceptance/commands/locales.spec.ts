import { Readable } from 'node:stream'
import { expect } from 'chai'
import { destroyCommand } from '../../../src/cli/commands/destroy.js'
import { generateCommand } from '../../../src/cli/commands/generate.js'
import { localesCommand } from '../../../src/cli/commands/locales.js'
import { Application } from '../../support/applications/generated.js'
import { failure } from '../../support/failure.js'
import { runCommand } from '../../support/run-command.js'

describe('The commands for languages', () => {
  let app: Application

  beforeEach(async () => {
    app = Application.web()
    await kitGenerate('resource', 'post', 'title')
  })
  afterEach(() => app.remove())

  const kitGenerate = (...args: string[]) => runCommand((out) => generateCommand(out, () => app.folder), args)
  const kitLocales = () => runCommand((out) => localesCommand(out, () => app.folder), [])
  const kitDestroy = (args: string[], responses = '') =>
    runCommand(
      (out) =>
        destroyCommand(out, {
          folder: () => app.folder,
          input: Readable.from([responses]),
          hasRun: () => Promise.resolve(false),
        }),
      args,
    )

  describe('kit generate locale', () => {
    it('writes each id with an empty translation, below the English text', async () => {
      expect(await kitGenerate('locale', 'de')).to.equal(
        '   create  locales/application.de.yaml\n   create  locales/posts.de.yaml\n',
      )
      expect(app.read('locales/posts.de.yaml')).to.match(
        /^# Post\n- id: post\n {2}translation: ''\n# Posts\n- id: posts\n {2}translation: ''\n# New post\n/,
      )
      expect(app.read('locales/posts.de.yaml')).to.contain(
        '- id: post.destroyed.success\n  translation: Der Eintrag wurde gelöscht.\n',
      )
      expect(app.read('locales/application.de.yaml')).to.contain(
        "# Welcome to Blog\n- id: pages.home.welcome\n  translation: ''\n",
      )
    })

    it('writes the plural forms of the language', async () => {
      app.write(
        'locales/counts.en-us.yaml',
        '- id: count\n  translation:\n    one: One post\n    other: Many posts\n',
      )
      await kitGenerate('locale', 'pl')
      expect(app.read('locales/counts.pl.yaml')).to.equal(
        "# one: One post\n# other: Many posts\n- id: count\n  translation:\n    few: ''\n    many: ''\n    one: ''\n    other: ''\n",
      )
    })

    it("writes the framework's texts for a language that the framework lacks", async () => {
      await kitGenerate('locale', 'it')
      expect(app.read('locales/kit.it.yaml')).to.contain("# Save\n- id: kit.save\n  translation: ''\n")
    })

    it('adds the missing ids to the files of the language, and keeps their texts', async () => {
      await kitGenerate('locale', 'de')
      app.write('locales/posts.de.yaml', '- id: post\n  translation: Beitrag\n')
      await kitGenerate('resource', 'author', 'name')
      expect(await kitGenerate('locale', 'de')).to.equal(
        '   create  locales/authors.de.yaml\n   update  locales/posts.de.yaml\n',
      )
      expect(app.read('locales/posts.de.yaml')).to.match(
        /^- id: post\n {2}translation: Beitrag\n# Posts\n- id: posts\n {2}translation: ''\n/,
      )
      expect(String(await failure(kitGenerate('locale', 'de')))).to.contain(
        'The files of de already have every id of the English texts.',
      )
    })

    it('rejects English, and words other than codes of languages', async () => {
      expect(String(await failure(kitGenerate('locale', 'german')))).to.contain(
        `"german" isn't a language. Use a code such as de, fr or pt-BR.`,
      )
      expect(String(await failure(kitGenerate('locale', 'en-us')))).to.contain(
        'en-US is the language that others are translated from.',
      )
    })
  })

  it('write the labels of a model once, with the first of its resources', async () => {
    await kitGenerate('model', 'author', 'name')
    await kitGenerate('resource', 'author', 'name', '--use-model', 'author')
    await kitGenerate('resource', 'writer', 'name', '--use-model', 'author')
    expect(app.read('locales/authors.en-us.yaml')).to.contain('- id: author.name\n')
    expect(app.read('locales/writers.en-us.yaml'))
      .to.contain('- id: writer.new\n')
      .and.not.contain('author.name')
    expect(await kitLocales()).to.equal('en-US: complete\n')
    expect(await kitDestroy(['resource', 'writer', '-y'])).to.not.contain('edited')
  })

  describe('kit locales', () => {
    it('succeeds if no text is missing', async () => {
      expect(await kitLocales()).to.equal('en-US: complete\n')
    })

    it('lists the missing and the empty texts of each language, and fails', async () => {
      await kitGenerate('locale', 'de')
      const written = app.read('locales/posts.de.yaml').replaceAll("''", 'Text')
      app.write('locales/posts.de.yaml', written.replace('translation: Text', "translation: ''"))
      app.write('locales/application.de.yaml', '- id: only.german\n  translation: Nur hier\n')
      let output = ''
      const command = localesCommand({ write: (text) => (output += text) }, () => app.folder)
      const error = await failure(command.parseAsync([], { from: 'user' }))
      expect(output.replaceAll(/ +/g, ' ').split('\n').filter(Boolean)).to.deep.equal([
        'de: 7 missing',
        ' pages.footer Made with resource-kit',
        ' pages.home.lead Your application is running. These are its resources:',
        ' pages.home.note Edit this page in {{page}} and its styles in {{styles}}.',
        ' pages.home.title Welcome',
        ' pages.home.welcome Welcome to Blog',
        ' pages.name Blog',
        ' post Post',
        'en-US: 1 missing',
        ' only.german only.german',
      ])
      expect(String(error)).to.contain('Texts are missing in de, en-US. Write them in the folder locales.')
    })

    it('lists ids in templates that no language has, and fails', async () => {
      app.write(
        'templates/posts/extra.pug',
        "h1= t('psots')\np= t('posts') + ctx.t('kit.save') + list.at('x')\np(title=t(\"post.nwe\", { count: 1 }))= t(`post.${name}`) + t('post.' + name)\n",
      )
      let output = ''
      const command = localesCommand({ write: (text) => (output += text) }, () => app.folder)
      const error = await failure(command.parseAsync([], { from: 'user' }))
      expect(output).to.equal(
        'en-US: complete\ntemplates: 2 unknown\n  psots     posts/extra.pug:1\n  post.nwe  posts/extra.pug:3\n',
      )
      expect(String(error)).to.contain('Texts are missing in templates. Write them in the folder locales.')
    })

    it('does not list texts that the general language has', async () => {
      app.write('locales/own.en-gb.yaml', '- id: post\n  translation: Entry\n')
      expect(await kitLocales()).to.equal('en-GB: complete\nen-US: complete\n')
    })
  })

  describe('kit destroy', () => {
    it('deletes the files of a language', async () => {
      const before = app.tree()
      await kitGenerate('locale', 'de')
      expect(await kitDestroy(['locale', 'de', '-y'])).to.equal(
        'locales/posts.de.yaml contains 3 translations.\n   delete  locales/application.de.yaml\n   delete  locales/posts.de.yaml\n',
      )
      expect(app.tree()).to.deep.equal(before)
      expect(String(await failure(kitDestroy(['locale', 'de', '-y'])))).to.contain(
        'There are no texts in de in the folder locales.',
      )
    })

    it('reports translations before it deletes them', async () => {
      app.write('locales/posts.de.yaml', '- id: post\n  translation: Beitrag\n')
      expect(await kitDestroy(['locale', 'de'], 'n\n')).to.contain(
        'locales/posts.de.yaml contains 1 translation.\nDelete locales/posts.de.yaml? (y/n) n\n',
      )
    })

    it('deletes a malformed file, and reports it', async () => {
      app.write('locales/posts.it.yaml', '- id: [\n')
      expect(await kitDestroy(['locale', 'it', '-y'])).to.match(
        /^locales\/posts.it.yaml may contain translations: .+\n   delete {2}locales\/posts.it.yaml\n$/,
      )
    })

    it('deletes the translations of a resource with it', async () => {
      await kitGenerate('locale', 'de')
      await kitDestroy(['resource', 'post', '-y'])
      expect(Object.keys(app.tree()).filter((path) => path.includes('post'))).to.deep.equal([])
      expect(app.tree()).to.include.keys('locales/application.de.yaml')
    })
  })
})
