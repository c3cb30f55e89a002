import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import {
  Column,
  Entity,
  JoinColumn,
  ManyToOne,
  OneToMany,
  Table,
  TableForeignKey,
  VersionColumn,
  type Relation,
} from 'typeorm'
import {
  App,
  BaseResource,
  column,
  csrf,
  Database,
  Model,
  Nested,
  Present,
  primaryKey,
  Resource,
  Route,
  timestamps,
  transaction,
  type Context,
} from '../../../src/index.js'
import {
  HasFile,
  storedFiles,
  storedFilesTable,
  type StoredFile,
  type StoredFiles,
} from '../../../src/files/index.js'
import { buildDocument, documentsOf } from '../../../src/openapi/document.js'
import { testApplication } from '../../../src/testing/index.js'
import { databaseWithTables } from '../../support/databases.js'
import { formWith, png } from '../../support/file-contents.js'
import { Site } from '../../support/site.js'
import { temporaryFolder } from '../../support/temporary-folder.js'

@Entity('albums')
class Album extends Model {
  @Column('varchar') @Present() title!: string
  @VersionColumn() lock_version!: number

  @OneToMany(() => Picture, (picture) => picture.album)
  @Nested<Picture>({ fields: ['caption', 'photo'], min: 1, max: 5 })
  pictures!: Picture[]
}

@Entity('pictures')
class Picture extends Model {
  @Column('uuid') album_id!: string
  @Column('int') position!: number
  @Column('varchar', { nullable: true }) caption!: string | null
  @HasFile({ types: ['image/png'], maxSize: '20 KiB' }) @Present() photo!: StoredFile

  @ManyToOne(() => Album, (album) => album.pictures, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'album_id' })
  album?: Relation<Album>
}

@Resource('/albums', { model: Album, fields: ['title', 'pictures'] })
class AlbumsResource extends BaseResource {
  override async show(ctx: Context) {
    return ctx.respond({ data: await this.find(ctx) })
  }

  override async create(ctx: Context) {
    return this.save(ctx, ctx.bind(new Album()))
  }

  override async new(ctx: Context) {
    ctx.render('album', { album: new Album() })
  }

  override async update(ctx: Context) {
    return this.save(ctx, ctx.bind(await this.find(ctx)))
  }

  override async destroy(ctx: Context) {
    await ctx.destroy(await this.find(ctx))
    ctx.status = 204
  }

  @Route('GET', '/{album_id}/files/{stored_file_id}', { responses: { 200: '*/*' } })
  async file(ctx: Context) {
    return ctx.sendFile(await this.find(ctx))
  }

  private find(ctx: Context) {
    return ctx.find(Album, ctx.params.album_id)
  }

  private async save(ctx: Context, album: Album) {
    const errors = await ctx.save(album)
    if (errors) return ctx.respond(errors, { html: () => ctx.render('album', { album, errors }) })
    return ctx.respond({ data: album })
  }
}

const template = `
- const form = formFor(album, { action: '/albums', errors })
doctype html
html(lang='en')
  head: title Album
  body: main
    form(action=form.action, method='post')
      != form.hiddenFields()
      != form.errorSummary()
      != form.text('title')
      each row in form.rows('pictures')
        fieldset
          != row.hiddenFields()
          != row.text('caption')
          != row.file('photo')
          != row.remove()
      != form.addRow('pictures')
      != form.submit()
`

const open = (url: string) =>
  new Database({ test: { url, logging: false }, models: [Album, Picture] }, 'test').open()

async function createTables(url: string): Promise<void> {
  const database = await open(url)
  const runner = database.createQueryRunner()
  const refer = (name: string, referencedTableName: string, onDelete?: string) =>
    new TableForeignKey({
      columnNames: [name],
      referencedTableName,
      referencedColumnNames: ['id'],
      ...(onDelete && { onDelete }),
    })
  await runner.createTable(storedFilesTable(runner))
  const albums = [column(runner, 'title', 'string'), column(runner, 'lock_version', 'int')]
  await runner.createTable(
    new Table({ name: 'albums', columns: [primaryKey(runner), ...albums, ...timestamps(runner)] }),
  )
  const pictures = [
    column(runner, 'album_id', 'uuid'),
    column(runner, 'position', 'int'),
    column(runner, 'caption', 'string', { isNullable: true }),
    column(runner, 'photo_id', 'uuid', { isUnique: true }),
  ]
  await runner.createTable(
    new Table({
      name: 'pictures',
      columns: [primaryKey(runner), ...pictures, ...timestamps(runner)],
      foreignKeys: [refer('album_id', 'albums', 'CASCADE'), refer('photo_id', 'stored_files')],
    }),
  )
  await runner.release()
  await database.close()
}

describe('Files of lines', () => {
  let site: Site
  let files: StoredFiles
  let app: App
  let database: Database

  before(async () => {
    database = await open(await databaseWithTables('albums', createTables))
    const folder = temporaryFolder()
    mkdirSync(join(folder, 'templates'))
    writeFileSync(join(folder, 'templates/album.pug'), template)
    app = new App({ templates: join(folder, 'templates') })
    files = storedFiles(database)
    app.use(transaction(database))
    app.use(csrf())
    app.extend(files)
    app.resource(AlbumsResource)
    site = await Site.open(app)
    await site.get('/albums/new')
  })
  after(() => site.close())

  type Parts = ReadonlyArray<readonly [field: string, name: string, content: Uint8Array | string]>
  const send = (
    method: 'post' | 'put',
    path: string,
    fields: Record<string, string>,
    parts: Parts,
    accept: 'json' | 'html' = 'json',
  ) => site[method](path, { form: formWith(fields, parts), accept })
  const create = async () => {
    const response = await send('post', '/albums', { title: 'Trip', 'pictures[3][caption]': 'Sea' }, [
      ['pictures[1][photo]', 'a.png', png(2, 2, 1)],
      ['pictures[3][photo]', 'b.png', png(2, 2, 2)],
      ['pictures[4][photo]', '', ''],
    ])
    expect(response.status, response.text).to.equal(200)
    return response.json
  }
  const show = async (id: string) => (await site.get(`/albums/${id}`, { accept: 'json' })).json
  const names = (album: { pictures: { photo: { filename: string } | null }[] }) =>
    album.pictures.map(({ photo }) => photo?.filename ?? null)

  it('are sent in the parts of their lines, and read at the paths of their record', async () => {
    const album = await create()
    expect(names(album)).to.deep.equal(['a.png', 'b.png'])
    expect(album.pictures.map(({ caption }: { caption: string }) => caption)).to.deep.equal([null, 'Sea'])
    const shown = await show(album.id)
    expect(shown).to.deep.equal(album)
    const { url } = shown.pictures[1].photo
    expect(url).to.equal(`/albums/${album.id}/files/${shown.pictures[1].photo.id}`)
    const response = await fetch(site.url + url)
    expect(Buffer.from(await response.arrayBuffer()).equals(png(2, 2, 2))).to.equal(true)
    const other = await create()
    expect((await site.get(url.replace(album.id, other.id), { accept: 'json' })).status).to.equal(404)
  })

  it('are replaced, kept and released with their lines, which raises the version of the record', async () => {
    const album = await create()
    const [first, second] = album.pictures
    const before = await files.internal.table.count()
    const ids = { 'pictures[0][id]': second.id, 'pictures[1][id]': first.id }
    const changed = await send('put', `/albums/${album.id}`, ids, [['pictures[1][photo]', 'c.png', png()]])
    expect(names(changed.json)).to.deep.equal(['b.png', 'c.png'])
    const same = { 'pictures[0][id]': second.id, 'pictures[1][id]': first.id }
    const again = await send('put', `/albums/${album.id}`, same, [['pictures[1][photo]', 'd.png', png()]])
    expect(again.json.lock_version).to.equal(changed.json.lock_version + 1)
    expect(names(await show(album.id))).to.deep.equal(['b.png', 'd.png'])
    const { kept, unused } = await files.internal.table.count()
    expect([kept, unused]).to.deep.equal([before.kept, before.unused + 2])
    const pictures = [{ id: first.id, photo: { id: again.json.pictures[1].photo.id } }]
    const removed = await site.put(`/albums/${album.id}`, {
      json: { pictures },
      accept: 'json',
      fromPage: true,
    })
    expect(names(removed.json)).to.deep.equal(['d.png'])
    await site.delete(`/albums/${album.id}`, { accept: 'json' })
    expect((await files.internal.table.count()).kept).to.equal(before.kept - 2)
  })

  it('are never those of another line or of a path in the body', async () => {
    const [album, other] = [await create(), await create()]
    for (const photo of [
      { id: other.pictures[0].photo.id },
      '/etc/hostname',
      { filepath: '/etc/hostname' },
    ]) {
      const pictures = [{ id: album.pictures[0].id }, { photo }]
      const { json } = await site.put(`/albums/${album.id}`, {
        json: { pictures },
        accept: 'json',
        fromPage: true,
      })
      expect(json.codes).to.deep.equal({ 'pictures.1.photo': ['file_unknown'] })
    }
    expect(names(await show(album.id))).to.deep.equal(['a.png', 'b.png'])
  })

  it('are kept by the form that is shown again, beside the error of another line', async () => {
    const fields = { title: 'Trip', 'pictures[0][position]': '0', 'pictures[1][position]': '1' }
    const shown = await send(
      'post',
      '/albums',
      fields,
      [
        ['pictures[0][photo]', 'a.png', png()],
        ['pictures[1][photo]', 'b.txt', 'text'],
      ],
      'html',
    )
    expect(shown.status).to.equal(422)
    expect(shown.text).to.match(/<a href="#album_pictures_1_photo">Picture 2: /)
    expect(shown.text).to.match(/type="file" id="album_pictures_1_photo" name="pictures\[1\]\[photo\]"/)
    expect(shown.text.match(/formenctype="multipart\/form-data"/g)).to.have.length(2)
    const [, token = ''] =
      /type="hidden" name="pictures\[0\]\[photo\]" value="([^"]+)"/.exec(shown.text) ?? []
    const form = { title: 'Trip', 'pictures[0][photo]': token, 'pictures[1][caption]': 'None' }
    const missing = await site.post('/albums', { form, accept: 'json' })
    expect(missing.json.codes).to.deep.equal({ 'pictures.1.photo': ['present'] })
    const { json } = await site.post('/albums', {
      form: { ...form, 'pictures[1][caption]': '' },
      accept: 'json',
    })
    expect(names(json)).to.deep.equal(['a.png'])
  })

  it('are made by the factory where a line requires them', async () => {
    const album = await testApplication(app, database).factory.make(Album)
    expect(names(await show(album.id))).to.deep.equal(['sample.png'])
  })

  it('are described as parts of a form, and as tokens and ids in JSON', () => {
    const [declared] = documentsOf(app.declarations, { title: 'A', version: '1' })
    const { paths, components } = buildDocument(app.declarations, declared!).document
    const form = 'post.requestBody.content.multipart/form-data.schema.allOf[1].patternProperties'
    const pattern = String.raw`^pictures\[\w+\]\[photo\]$`
    expect(paths['/albums']).to.have.nested.property(form).with.keys([pattern])
    expect(components.schemas['PictureBody']).to.have.nested.property('properties.photo.anyOf')
  })
})
