import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { pino } from 'pino'
import { IsDate, IsOptional, IsString } from 'class-validator'
import { App, translations, type AppOptions, type Context } from '../../src/index.js'
import { writeLocales } from '../support/locales.js'
import { Site } from '../support/site.js'
import { inFolder } from '../support/temporary-folder.js'

class Meeting {
  @IsOptional()
  @IsString()
  title?: string

  @IsOptional()
  @IsDate()
  starts_at?: Date
}

const berlin = { cookie: 'time_zone=Europe/Berlin' }

/** Opens an application that shows a meeting, and returns the one that it binds. */
async function withSite(
  options: AppOptions,
  work: (site: Site) => Promise<void>,
  declare?: (app: App) => void,
): Promise<void> {
  await inFolder(async (folder) => {
    await writeLocales(join(folder, 'locales'), { 'a.en-us.yaml': {}, 'a.de.yaml': { a: 'b' } })
    writeFileSync(
      join(folder, 'meeting.pug'),
      "p!= time(meeting.starts_at)\n!= formFor(meeting, { action: '/' }).dateTime('starts_at')",
    )
    const app = new App({ templates: folder, logger: pino({ level: 'silent' }), ...options })
    app.use(translations(join(folder, 'locales')))
    declare?.(app)
    app.get('/', (ctx: Context) => {
      const meeting = Object.assign(new Meeting(), { starts_at: new Date('2026-07-01T10:00:00Z') })
      ctx.render('meeting', { meeting })
    })
    app.post('/', (ctx: Context) => {
      ctx.body = { starts_at: ctx.bind(new Meeting()).starts_at, zone: ctx.timeZone }
    })
    const site = await Site.open(app)
    try {
      await work(site)
    } finally {
      await site.close()
    }
  })
}

describe('ctx.timeZone', () => {
  const times = async (site: Site, headers: Record<string, string> = {}) => {
    const { text } = await site.get('/', { headers })
    return {
      shown: /<time [^>]*>([^<]*)</.exec(text)?.[1]?.replaceAll('\u202f', ' '),
      input: /type="datetime-local" value="([^"]*)"/.exec(text)?.[1],
      hint: /class="hint"[^>]*>([^<]*)</.exec(text)?.[1],
    }
  }
  const inUtc = {
    shown: 'Jul 1, 2026, 10:00 AM UTC',
    input: '2026-07-01T10:00',
    hint: 'In UTC (coordinated universal time).',
  }
  const inBerlin = {
    shown: 'Jul 1, 2026, 12:00 PM GMT+2',
    input: '2026-07-01T12:00',
    hint: 'In the time zone Europe/Berlin.',
  }

  it('is UTC by default', () =>
    withSite({}, async (site) => {
      expect(await times(site)).to.deep.equal(inUtc)
    }))

  for (const timeZone of ['Europe/Berlin', 'europe/berlin'])
    it(`is the zone of the application, ${timeZone}, in its usual spelling`, () =>
      withSite({ timeZone }, async (site) => {
        expect(await times(site)).to.deep.equal(inBerlin)
      }))

  for (const cookie of ['time_zone=Europe/Berlin', 'time_zone=Europe%2FBerlin', 'time_zone=europe/berlin']) {
    it(`is that of the cookie ${cookie}`, () =>
      withSite({ timeZone: 'Asia/Tokyo' }, async (site) => {
        expect(await times(site, { cookie })).to.deep.equal(inBerlin)
      }))
  }

  for (const cookie of [
    'time_zone=Mars/Phobos',
    'time_zone=',
    `time_zone=${'x'.repeat(1000)}`,
    'time_zone=%00',
  ]) {
    it(`ignores the cookie ${cookie.slice(0, 25)}`, () =>
      withSite({ timeZone: 'Europe/Berlin' }, async (site) => {
        expect(await times(site, { cookie })).to.deep.equal(inBerlin)
      }))
  }

  it('can be assigned; an unknown zone is ignored', () =>
    withSite(
      {},
      async (site) => {
        expect(await times(site, { cookie: 'time_zone=Asia/Tokyo' })).to.deep.equal(inBerlin)
      },
      (app) =>
        app.use((ctx, next) => {
          ctx.timeZone = 'Europe/Berlin'
          ctx.timeZone = 'Mars/Phobos'
          return next()
        }),
    ))

  it('has a name in the language of the page', () =>
    withSite({}, async (site) => {
      expect(await times(site, { ...berlin, 'accept-language': 'de' })).to.deep.equal({
        shown: '01.07.2026, 12:00 MESZ',
        input: '2026-07-01T12:00',
        hint: 'In der Zeitzone Europe/Berlin.',
      })
    }))

  it('lets caches distinguish pages by the cookie', () =>
    withSite({}, async (site) => {
      expect((await site.get('/')).headers.get('vary')).to.contain('Cookie')
    }))

  describe('applies to forms', () => {
    const local = '2026-07-01T12:00'
    const multipart = new FormData()
    multipart.set('starts_at', local)
    for (const [encoding, form] of Object.entries({ urlencoded: { starts_at: local }, multipart })) {
      it(`that are ${encoding}`, () =>
        withSite({}, async (site) => {
          const { json } = await site.post('/', { form, headers: berlin })
          expect(json.starts_at).to.equal('2026-07-01T10:00:00.000Z')
        }))
    }

    const rows: [what: string, local: string, utc: string][] = [
      ['a day', '2026-07-01', '2026-06-30T22:00:00.000Z'],
      ['a time with an offset', '2026-07-01T12:00+01:00', '2026-07-01T11:00:00.000Z'],
      ['a time that clocks skip', '2026-03-29T02:30', '2026-03-29T01:30:00.000Z'],
      ['a time that clocks show twice', '2026-10-25T02:30', '2026-10-25T00:30:00.000Z'],
    ]
    for (const [what, starts_at, utc] of rows) {
      it(`with ${what}`, () =>
        withSite({}, async (site) => {
          expect((await site.post('/', { form: { starts_at }, headers: berlin })).json.starts_at).to.equal(
            utc,
          )
        }))
    }
  })

  it('does not apply to JSON and XML, which are in UTC', () =>
    withSite({ timeZone: 'Asia/Tokyo' }, async (site) => {
      const starts_at = '2026-07-01T12:00'
      for (const body of [{ json: { starts_at } }, { xml: { meeting: { starts_at } } }]) {
        const { json } = await site.post('/', { ...body, headers: berlin })
        expect(json.starts_at).to.equal('2026-07-01T12:00:00.000Z')
      }
    }))
})
