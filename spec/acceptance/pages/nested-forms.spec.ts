import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import axe from 'axe-core'
import { expect } from 'chai'
import { Min } from 'class-validator'
import type { Browser, Page } from 'playwright-core'
import { Column, Entity, JoinColumn, ManyToOne, OneToMany, type Relation } from 'typeorm'
import {
  App,
  BaseResource,
  csrf,
  Database,
  Model,
  Nested,
  Present,
  Resource,
  transaction,
  type Context,
  type ValidationErrors,
} from '../../../src/index.js'
import { describeInBrowser, startBrowser, visit } from '../../support/browser.js'
import { databaseWithTables } from '../../support/databases.js'
import { root } from '../../support/kit.js'
import { Site } from '../../support/site.js'
import { temporaryFolder } from '../../support/temporary-folder.js'

@Entity('recipes')
class Recipe extends Model {
  @Column('varchar') @Present() title!: string

  @OneToMany(() => Step, (step) => step.recipe)
  @Nested<Step>({ fields: ['text', 'minutes', 'hot'], max: 10 })
  steps!: Step[]
}

@Entity('recipe_steps')
class Step extends Model {
  @Column('uuid') recipe_id!: string
  @Column('int') position!: number
  @Column('varchar') @Present() text!: string
  @Column('int') @Min(1) minutes!: number
  @Column('boolean') hot = false

  @ManyToOne(() => Recipe, (recipe) => recipe.steps, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'recipe_id' })
  recipe?: Relation<Recipe>
}

const LAYOUT = `
doctype html
html(lang=locale)
  head
    meta(name='viewport' content='width=device-width, initial-scale=1')
    title
      block title
    link(rel='stylesheet' href='/public/application.css')
    script(src='/public/application.js' defer)
  body
    main
      block content
`

const FORM = `
extends /layout

block title
  | Recipe

block content
  h1 Recipe
  - const form = formFor(recipe, { action: path, method, errors })
  form(action=form.action method='post')
    != form.hiddenFields()
    != form.errorSummary()
    != form.text('title', { required: true })
    each row in form.rows('steps')
      fieldset.row
        != row.hiddenFields()
        != row.text('text', { required: true })
        != row.number('minutes', { required: true })
        != row.checkbox('hot')
        != row.remove()
    != form.addRow('steps')
    != form.submit()
`

@Resource('/recipes', { model: Recipe, fields: ['title', 'steps'] })
class RecipesResource extends BaseResource {
  override async new(ctx: Context) {
    return ctx.respond({ html: () => form(ctx, new Recipe(), '/recipes', 'POST') })
  }

  override async create(ctx: Context) {
    return save(ctx, ctx.bind(new Recipe()), '/recipes', 'POST')
  }

  override async edit(ctx: Context) {
    const recipe = await ctx.find(Recipe, ctx.params['recipe_id'])
    return ctx.respond({ html: () => form(ctx, recipe, `/recipes/${recipe.id}`, 'PUT') })
  }

  override async update(ctx: Context) {
    const recipe = ctx.bind(await ctx.find(Recipe, ctx.params['recipe_id']))
    return save(ctx, recipe, `/recipes/${recipe.id}`, 'PUT')
  }
}

@Resource('/closed', { model: Recipe, fields: ['title'] })
class ClosedResource extends BaseResource {
  override async new(ctx: Context) {
    return ctx.respond({ html: () => form(ctx, new Recipe(), '/closed', 'POST') })
  }
}

async function save(ctx: Context, recipe: Recipe, path: string, method: string) {
  const errors = await ctx.save(recipe)
  if (errors) return ctx.respond(errors, { html: () => form(ctx, recipe, path, method, errors) })
  return ctx.seeOther(`/recipes/${recipe.id}/edit`)
}

function form(ctx: Context, recipe: Recipe, path: string, method: string, errors?: ValidationErrors): void {
  ctx.render('recipes/form', { recipe, path, method, errors })
}

async function openRecipes(): Promise<{ site: Site; database: Database }> {
  const open = (url: string) =>
    new Database({ test: { url, logging: false }, models: [Recipe, Step] }, 'test').open()
  const database = await open(
    await databaseWithTables('recipes', async (url) => {
      const created = await open(url)
      await created.synchronize()
      await created.close()
    }),
  )
  const templates = temporaryFolder()
  mkdirSync(join(templates, 'recipes'))
  writeFileSync(join(templates, 'layout.pug'), LAYOUT.trimStart())
  writeFileSync(join(templates, 'recipes/form.pug'), FORM.trimStart())
  const app = new App({ templates })
  app.static('/public', join(root, 'scaffolds/application/web/public'))
  app.use(csrf())
  app.use(transaction(database))
  app.resource(RecipesResource)
  app.resource(ClosedResource)
  return { site: await Site.open(app), database }
}

const stepsIn = async (database: Database): Promise<string[]> => {
  const steps = await database.manager.find(Step, { order: { position: 'ASC' } })
  return steps.map(({ text, minutes }) => `${text} ${minutes}`)
}

describe('The form of nested records', () => {
  let site: Site
  let database: Database
  let recipe: { id: string; steps: { id: string }[] }

  before(async () => ({ site, database } = await openRecipes()))
  after(async () => {
    await site.close()
    await database.close()
  })
  beforeEach(async () => {
    await database.manager.deleteAll(Step)
    const steps = ['boil', 'stir'].map((text) => ({ text, minutes: 5 }))
    await site.post('/recipes', { json: { title: 'Soup', steps }, fromPage: true })
    const [stored] = await database.manager.find(Recipe, { order: { created_at: 'DESC' }, take: 1 })
    const own = await database.manager.find(Step, { order: { position: 'ASC' } })
    recipe = { id: stored?.id ?? '', steps: own }
  })

  it('shows the lines in their order, and empty rows after them', async () => {
    const { text } = await site.get(`/recipes/${recipe.id}/edit`)
    for (const part of [
      'Step 1</legend>',
      `name="steps[0][id]" value="${recipe.steps[0]?.id}"`,
      'id="recipe_steps_1_text"',
      'Remove Step 2',
      'name="steps[3][text]"',
    ])
      expect(text).to.include(part)
    expect(text).not.to.include('name="steps[4][text]"')
    expect(text).not.to.include('Remove Step 3')
    // A browser would not send the form because of the blank rows.
    expect(text).to.match(/name="steps\[0\]\[text\]"[^>]* required/)
    expect(text).not.to.match(/name="steps\[2\]\[text\]"[^>]* required/)
  })

  it('comes back as it was sent, with the errors at their fields and the ticked boxes', async () => {
    const [first, second] = recipe.steps
    const body: [string, string][] = [
      ['title', 'Soup'],
      ['steps[0][id]', String(first?.id)],
      ['steps[0][text]', 'typed'],
      ['steps[0][minutes]', '7'],
      ['steps[0][_remove]', 'true'],
      ['steps[1][text]', 'new'],
      ['steps[1][minutes]', 'many'],
      ['steps[2][id]', String(second?.id)],
      ['steps[2][text]', ''],
      ['steps[2][minutes]', '5'],
    ]
    const { status, text } = await site.put(`/recipes/${recipe.id}`, { form: body, fromPage: true })
    expect(status).to.equal(422)
    expect(text).to.include('value="typed"')
    expect(text).to.match(/name="steps\[0\]\[_remove\]" value="true" checked/)
    expect(text).to.match(/id="recipe_steps_1_minutes"[^>]* value="many"[^>]* aria-invalid="true"/)
    expect(text).to.include('<a href="#recipe_steps_2_text">Step 3: Text cannot be blank.</a>')
    expect(await stepsIn(database)).to.deep.equal(['boil 5', 'stir 5'])
  })

  it('is shown with more rows by the button, and nothing is validated or saved', async () => {
    const body: [string, string][] = [
      ['title', ''],
      ['steps[0][text]', 'new'],
      ['steps[1][text]', ''],
    ]
    const { text } = await site.put(`/recipes/${recipe.id}?rows=steps`, { form: body, fromPage: true })
    expect(text).to.include('value="new"').and.to.include('name="steps[3][text]"')
    expect(text).not.to.include('name="steps[4][text]"').and.not.to.include('cannot be blank')
    expect(await stepsIn(database)).to.deep.equal(['boil 5', 'stir 5'])
    const json = { title: 'Stew' }
    await site.put(`/recipes/${recipe.id}?rows=steps`, { json, fromPage: true })
    expect((await database.manager.findOneByOrFail(Recipe, { id: recipe.id })).title).to.equal('Stew')
  })

  it('is an error that names the fields when the resource does not read the list', async () => {
    expect((await site.get('/closed/new')).status).to.equal(500)
  })
})

describeInBrowser('The form of nested records in a browser', () => {
  let browser: Browser
  let site: Site
  let database: Database

  before(async () => {
    ;({ site, database } = await openRecipes())
    browser = await startBrowser()
  })
  after(async () => {
    await browser?.close()
    await site?.close()
    await database?.close()
  })

  async function violations(page: Page): Promise<string[]> {
    await page.evaluate(axe.source)
    const { violations: found } = await page.evaluate<axe.AxeResults>('axe.run()')
    return found.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`)
  }

  for (const width of [360, 1280])
    it(`adds, corrects and removes lines without JavaScript at ${width} pixels`, async () => {
      const viewport = { width, height: 800 }
      const { page } = await visit(browser, site.url, { javaScriptEnabled: false, viewport })
      await page.goto('/recipes/new')
      await page.fill('#recipe_title', 'Cake')
      await page.fill('#recipe_steps_0_text', 'mix')
      await page.fill('#recipe_steps_0_minutes', '5')
      await page.fill('#recipe_steps_1_text', 'bake')
      await page.fill('#recipe_steps_1_minutes', '0')
      await page.getByRole('button', { name: 'Save' }).click()
      await page.getByText('Step 2: Minutes must be 1 or more.').waitFor()
      await page.fill('#recipe_steps_1_minutes', '40')
      await page.getByRole('button', { name: 'Add a step' }).click()
      await page.fill('#recipe_steps_2_text', 'eat')
      await page.fill('#recipe_steps_2_minutes', '10')
      await page.check('#recipe_steps_0__remove')
      await page.getByRole('button', { name: 'Save' }).click()
      await page.waitForURL('**/edit')
      expect(await page.inputValue('#recipe_steps_0_text')).to.equal('bake')
      expect(await page.inputValue('#recipe_steps_1_text')).to.equal('eat')
      const { page: tested } = await visit(browser, site.url, { viewport })
      await tested.goto(page.url())
      expect(await violations(tested)).to.deep.equal([])
      const overflow = await tested.evaluate<boolean>('document.documentElement.scrollWidth > innerWidth')
      expect(overflow).to.equal(false)
      await database.manager.deleteAll(Step)
    })

  it('adds a row without a request with JavaScript', async () => {
    const { page, troubles } = await visit(browser, site.url)
    await page.goto('/recipes/new')
    await page.fill('#recipe_title', 'Tea')
    const requests: string[] = []
    page.on('request', (request) => requests.push(request.url()))
    await page.fill('#recipe_steps_1_text', 'last')
    await page.getByRole('button', { name: 'Add a step' }).click()
    await page.getByRole('group', { name: 'Step 3' }).waitFor()
    expect(await page.inputValue('#recipe_steps_2_text')).to.equal('')
    expect(requests).to.deep.equal([])
    await page.fill('#recipe_steps_1_minutes', '1')
    await page.fill('#recipe_steps_2_text', 'brew')
    await page.fill('#recipe_steps_2_minutes', '3')
    expect(await violations(page)).to.deep.equal([])
    await page.getByRole('button', { name: 'Save' }).click()
    await page.waitForURL('**/edit')
    expect(await stepsIn(database)).to.deep.equal(['last 1', 'brew 3'])
    expect(troubles).to.deep.equal([])
  })
})
