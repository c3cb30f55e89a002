import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { expect } from 'chai'
import pug from 'pug'
import { TemplateNotFound } from '../../src/errors.js'
import { frameworkTemplates, Renderer } from '../../src/views/renderer.js'
import { viewHelpers } from '../../src/views/helpers.js'
import { viewContext } from '../support/view-context.js'
import { temporaryFolder } from '../support/temporary-folder.js'

describe('new Renderer({ folders, cache })', () => {
  let root: string
  let folder: string

  beforeEach(() => {
    root = temporaryFolder()
    folder = join(root, 'templates')
  })

  afterEach(() => rmSync(root, { recursive: true }))

  function write(name: string, source: string): void {
    mkdirSync(dirname(join(root, name)), { recursive: true })
    writeFileSync(join(root, name), source)
  }

  const renderer = (cache = false) => new Renderer({ folders: [folder, join(root, 'shared')], cache })

  it('renders a template with its locals, escaped', () => {
    write('templates/posts/show.pug', 'h1(title=title)= title')
    expect(renderer().render('posts/show', { title: '"><script>' })).to.equal(
      '<h1 title="&quot;&gt;&lt;script&gt;">&quot;&gt;&lt;script&gt;</h1>',
    )
  })

  it('uses a template from the first folder that contains it', () => {
    write('templates/a.pug', 'p first')
    write('shared/a.pug', 'p second')
    write('shared/b.pug', 'p second')
    expect(renderer().render('a')).to.equal('<p>first</p>')
    expect(renderer().render('b')).to.equal('<p>second</p>')
  })

  it('searches every folder for the templates that a template extends and includes', () => {
    write('templates/posts/show.pug', 'extends /base\nblock content\n  include _part\n  include ../footer')
    write('shared/base.pug', 'main\n  block content')
    write('shared/posts/_part.pug', 'p part')
    write('templates/footer.pug', 'p footer')
    expect(renderer().render('posts/show')).to.equal('<main><p>part</p><p>footer</p></main>')
  })

  it("falls back to the framework's layout", () => {
    write('templates/home.pug', 'extends /layout\nblock content\n  h1 Hello')
    const page = renderer().render('home', viewHelpers(viewContext()))
    expect(page).to.contain('<html lang="en-US">').and.to.contain('<h1>Hello</h1>')
  })

  it('names the view and every searched file if there is no template', () => {
    expect(() => renderer().render('posts/shwo'))
      .to.throw(TemplateNotFound)
      .that.deep.includes({
        view: 'posts/shwo',
        tried: [folder, join(root, 'shared'), frameworkTemplates].map((place) =>
          relative(process.cwd(), join(place, 'posts/shwo.pug')),
        ),
      })
  })

  it('names the template that extends or includes a missing one', () => {
    write('templates/home.pug', 'include missing')
    expect(() => renderer().render('home')).to.throw(TemplateNotFound, /missing\.pug[^]*home\.pug line 1/)
  })

  for (const view of [
    '../secret',
    'posts/../../secret',
    '/etc/secret',
    'posts/show\0',
    '../templates/../secret',
  ]) {
    it(`rejects the name ${JSON.stringify(view)}`, () => {
      write('secret.pug', 'p secret')
      expect(() => renderer().render(view)).to.throw(TemplateNotFound, 'is outside the template folders')
    })
  }

  it('rejects to extend or include files outside of the folders', () => {
    write('secret.pug', 'p secret')
    write('templates/a.pug', 'include ../secret')
    write('templates/b.pug', 'include /../secret')
    expect(() => renderer().render('a')).to.throw(TemplateNotFound, 'is outside the template folders')
    expect(() => renderer().render('b')).to.throw(TemplateNotFound, 'is outside the template folders')
  })

  it('compiles a template once if caching is on', () => {
    write('templates/a.pug', 'p old')
    const kept = renderer(true)
    kept.render('a')
    write('templates/a.pug', 'p new')
    expect(kept.render('a')).to.equal('<p>old</p>')
  })

  it('shows each change of a template, and of its includes, if caching is off', () => {
    write('templates/a.pug', 'p old\ninclude b')
    write('templates/b.pug', 'p old')
    const fresh = renderer(false)
    fresh.render('a')
    write('templates/a.pug', 'p new\ninclude b')
    write('templates/b.pug', 'p newer')
    expect(fresh.render('a')).to.equal('<p>new</p><p>newer</p>')
    rmSync(join(folder, 'b.pug'))
    expect(() => fresh.render('a')).to.throw(TemplateNotFound)
  })

  it('uses a new template of an earlier folder if caching is off', () => {
    write('templates/a.pug', 'include b')
    write('shared/b.pug', 'p shared')
    write('shared/c.pug', 'p shared')
    const fresh = renderer(false)
    expect(fresh.render('a') + fresh.render('c')).to.equal('<p>shared</p><p>shared</p>')
    write('templates/b.pug', 'p own')
    write('templates/c.pug', 'p own')
    expect(fresh.render('a') + fresh.render('c')).to.equal('<p>own</p><p>own</p>')
  })

  it('compiles a template again only after a change if caching is off', () => {
    write('templates/a.pug', "include b\nif fails\n  - throw new Error('wrong')")
    write('templates/b.pug', 'p old')
    const fresh = renderer(false)
    const compiled = countCalls(pug, 'compile', () => {
      for (let time = 0; time < 3; time++) fresh.render('a')
      expect(() => fresh.render('a', { fails: true })).to.throw('a.pug, line 3: wrong')
      write('templates/b.pug', 'p new')
      expect(fresh.render('a')).to.equal('<p>new</p>')
      fresh.render('a')
    })
    expect(compiled).to.equal(2)
  })

  it('compiles a template again for another renderer only after a change, or if its folders differ', () => {
    write('templates/a.pug', 'include b')
    write('templates/b.pug', 'p old')
    for (const cache of [true, false]) {
      write('templates/b.pug', 'p old')
      const compiled = countCalls(pug, 'compile', () => {
        for (let time = 0; time < 3; time++) expect(renderer(cache).render('a')).to.equal('<p>old</p>')
        write('templates/b.pug', 'p new')
        expect(renderer(cache).render('a')).to.equal('<p>new</p>')
        write('other/b.pug', 'p other')
        const other = new Renderer({ folders: [join(root, 'other'), folder], cache })
        expect(other.render('a')).to.equal('<p>other</p>')
      })
      expect(compiled, `cache: ${cache}`).to.equal(3)
    }
  })
})

/** The number of calls of an object's method during some work. */
function countCalls(object: object, name: string, work: () => void): number {
  const method: (...args: unknown[]) => unknown = Reflect.get(object, name)
  let calls = 0
  Reflect.set(object, name, (...args: unknown[]) => {
    calls += 1
    return Reflect.apply(method, object, args)
  })
  try {
    work()
  } finally {
    Reflect.set(object, name, method)
  }
  return calls
}
