import { expect } from 'chai'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { pino } from 'pino'
import { SMTPServer } from 'smtp-server'
import { absoluteUrl, mailer, mailInbox, mails, sendMail, type MailerOptions } from '../../src/mail/index.js'
import { toText } from '../../src/mail/text.js'
import {
  App,
  Database,
  errors,
  transaction,
  translations,
  type AppOptions,
  type Context,
} from '../../src/index.js'
import { captureLog } from '../../src/testing/index.js'
import { newDatabase } from '../support/databases.js'
import { Site } from '../support/site.js'
import { temporaryFolder } from '../support/temporary-folder.js'

const orderText = `| #{t('mail.welcome.text', { name })},
|
|   your order: #{url}
`

describe('Mails', () => {
  let folder = ''
  let database: Database

  before(() => {
    folder = temporaryFolder()
    for (const name of ['templates/mails', 'locales']) mkdirSync(join(folder, name), { recursive: true })
    writeFileSync(
      join(folder, 'templates/mails/welcome.pug'),
      "p= t('mail.welcome.text', { name })\np: a(href=url) Go\n",
    )
    const order = { 'order.pug': "p= t('mail.welcome.text', { name })", 'order.text.pug': orderText }
    for (const [file, content] of Object.entries(order))
      writeFileSync(join(folder, 'templates/mails', file), content)
    for (const [locale, subject, text] of [
      ['en-us', 'Welcome, {{name}}', 'Hello {{name}} & friends'],
      ['de', 'Willkommen, {{name}}', 'Hallo {{name}}'],
    ])
      writeFileSync(
        join(folder, `locales/mails.${locale}.yaml`),
        `- id: mail.welcome.subject\n  translation: '${subject}'\n- id: mail.welcome.text\n  translation: '${text}'\n`,
      )
  })

  beforeEach(async () => {
    database = await new Database({ test: { url: await newDatabase() } }, 'test').open()
    mails.clear()
  })

  afterEach(() => database.close())

  async function open(
    options: MailerOptions = {},
    more: AppOptions = {},
    isTransactional = true,
  ): Promise<Site> {
    const logger = pino({ level: 'silent' })
    const app = new App({ templates: join(folder, 'templates'), logger, ...more })
    app.extend(mailer({ from: 'Shop <shop@example.com>', ...options }))
    if (isTransactional) app.use(transaction(database))
    app.use(translations(join(folder, 'locales')))
    mailInbox(app)
    app.post('/', async (ctx) => {
      const locale = ctx.query['lang']
      if (isTransactional) await ctx.tx.query('SELECT 1')
      const { to = 'ada@example.com', name = 'Ada' } = Object(ctx.request.body) as Record<string, string>
      sendMail(ctx, {
        to,
        name: String(ctx.query['name'] ?? 'welcome'),
        locals: { name, url: absoluteUrl('/start?a=1&b=2') },
        ...(typeof locale === 'string' && { locale }),
      })
      ctx.body = { sent: mails.all.length, locale: ctx.locale }
      if (ctx.query['status']) ctx.status = Number(ctx.query['status'])
      if (ctx.query['fails']) throw new Error('failed')
    })
    return Site.open(app)
  }

  it('are written in HTML and text after the commit', async () => {
    const site = await open()
    expect((await site.post('/')).json).to.include({ sent: 0 })
    await site.close()
    expect(mails.last).to.deep.include({
      to: 'ada@example.com',
      from: 'Shop <shop@example.com>',
      subject: 'Welcome, Ada',
      html: '<p>Hello Ada &amp; friends</p><p><a href="http://127.0.0.1:3000/start?a=1&amp;b=2">Go</a></p>',
      text: 'Hello Ada & friends\n\nGo: http://127.0.0.1:3000/start?a=1&b=2',
      locale: 'en-US',
    })
  })

  it('have the text of their own template, if there is one', async () => {
    const site = await open()
    await site.post('/?name=order')
    await site.close()
    expect(mails.last).to.deep.include({
      html: '<p>Hello Ada &amp; friends</p>',
      text: 'Hello Ada & friends,\n\n  your order: http://127.0.0.1:3000/start?a=1&b=2',
    })
  })

  it('are in the language of the request, or in another one', async () => {
    const site = await open()
    const german = { headers: { 'Accept-Language': 'de' } }
    await site.post('/', german)
    expect((await site.post('/?lang=en-US', german)).json.locale).to.equal('de')
    await site.post('/?lang=de')
    await site.close()
    expect(mails.all.map(({ subject }) => subject)).to.deep.equal([
      'Willkommen, Ada',
      'Welcome, Ada',
      'Willkommen, Ada',
    ])
  })

  for (const isTransactional of [true, false]) {
    it(`are not sent if the request fails, ${isTransactional ? 'with' : 'without'} a transaction`, async () => {
      const site = await open({}, {}, isTransactional)
      for (const query of ['fails=1', 'status=422', 'status=500', 'status=201']) await site.post(`/?${query}`)
      await site.close()
      expect(mails.all).to.have.length(1)
    })
  }

  it('have links with the configured address of the application, and with the one on which it listens', async () => {
    const logger = pino({ level: 'silent' })
    const app = new App({ env: 'development', host: '127.0.0.2', port: 0, logger })
    expect(absoluteUrl('/')).to.equal('http://127.0.0.1:3000/')
    const address = await app.listen()
    try {
      expect(address).to.match(/^http:\/\/127\.0\.0\.2:[1-9]\d+$/)
      expect(absoluteUrl('/start')).to.equal(`${address}/start`)
    } finally {
      await app.close()
    }
    expect(absoluteUrl('/')).to.equal('http://127.0.0.1:3000/')

    // `kit work` does not listen.
    const worker = new App({ host: '127.0.0.2', port: 4000, logger })
    await worker.run()
    const link = absoluteUrl('/')
    await worker.close()
    expect(link).to.equal('http://127.0.0.2:4000/')
  })

  it('have links with BASE_URL, whatever host the request has', async () => {
    process.env['BASE_URL'] = 'https://shop.example'
    try {
      const site = await open()
      await site.post('/', { headers: { Host: 'evil.example', 'X-Forwarded-Host': 'evil.example' } })
      await site.close()
      expect(mails.last?.text).to.include('https://shop.example/start')
      process.env['BASE_URL'] = 'shop'
      expect(() => absoluteUrl('/')).to.throw('BASE_URL')
    } finally {
      delete process.env['BASE_URL']
    }
  })

  it('need BASE_URL and MAIL_URL in production', async () => {
    const start = async (env: Record<string, string>) => {
      Object.assign(process.env, env)
      const error = await open({}, { env: 'production', secret: 'x'.repeat(40) }, false).catch(
        (one: Error) => one,
      )
      for (const name of Object.keys(env)) delete process.env[name]
      return error instanceof Error ? error.message : error.close()
    }
    expect(await start({})).to.match(/^Mails need BASE_URL in production/)
    expect(await start({ BASE_URL: 'https://shop.example' })).to.match(/^Mails need MAIL_URL in production/)
    for (const MAIL_URL of ['nonsense', 'http://ada:hunter2@mail.example', 'smtp://'])
      expect(await start({ BASE_URL: 'https://shop.example', MAIL_URL }))
        .to.match(/^The url of the mail server \(MAIL_URL\) must be smtp:/)
        .and.not.include('hunter2')
  })

  it('need a sender with an address', async () => {
    const error = await open({ from: 'Shop' }).catch((one: Error) => one.message)
    expect(error).to.match(/^The sender of mails \(MAIL_FROM\) is "Shop"\. Use one address/)
  })

  it('are sent once by a request that is retried, and not at all if the commit fails', async () => {
    const app = new App({ templates: join(folder, 'templates'), logger: captureLog().logger })
    app.extend(mailer())
    app.use(transaction(database))
    app.use(translations(join(folder, 'locales')))
    let attempts = 0
    app.put('/', async (ctx) => {
      sendMail(ctx, { to: 'ada@example.com', name: 'welcome', locals: { name: `${++attempts}`, url: '/' } })
      await ctx.tx.query('SELECT 1')
      if (attempts === 1) throw new errors.TransactionConflict()
      ctx.body = 'done'
    })
    app.post('/', (ctx) => {
      sendMail(ctx, { to: 'ada@example.com', name: 'welcome', locals: { name: 'Ada', url: '/' } })
      // A query without await lets the commit fail.
      ctx.tx.query('SELECT 1').catch(() => undefined)
      ctx.body = 'done'
    })
    const site = await Site.open(app)
    expect([(await site.put('/')).status, (await site.post('/')).status]).to.deep.equal([200, 500])
    await site.close()
    expect(mails.all.map(({ subject }) => subject)).to.deep.equal(['Welcome, 2'])
  })

  /** The mails that a server receives: its recipients and its text. */
  async function receive(work: (url: string) => Promise<unknown>): Promise<{ to: string[]; text: string }[]> {
    const received: { to: string[]; text: string }[] = []
    const server = new SMTPServer({
      authOptional: true,
      disabledCommands: ['STARTTLS'],
      onData(stream, { envelope }, done) {
        let text = ''
        stream.on('data', (part: Buffer) => (text += part.toString()))
        stream.on('end', () => {
          received.push({ to: envelope.rcptTo.map(({ address }) => address), text })
          done()
        })
      },
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.server.address() as { port: number }
    await work(`smtp://127.0.0.1:${port}`)
    await new Promise<void>((resolve) => server.close(resolve))
    return received
  }

  it('are received by a mail server', async () => {
    const [mail, ...more] = await receive(async (url) => {
      const site = await open({ url })
      await site.post('/?fails=1')
      await site.post('/')
      // A closing application waits for its mails.
      await site.close()
    })
    expect([mail?.to, more]).to.deep.equal([['ada@example.com'], []])
    expect(mail?.text).to.include('Subject: Welcome, Ada').and.include('multipart/alternative')
    expect(mail?.text).to.include('From: Shop <shop@example.com>')
    for (const type of ['text/plain', 'text/html']) expect(mail?.text).to.include(`Content-Type: ${type}`)
  })

  it('are received if a request sends them while the application is closing', async () => {
    const [mail] = await receive(async (url) => {
      const app = new App({ templates: join(folder, 'templates'), logger: pino({ level: 'silent' }) })
      app.extend(mailer({ url })).use(translations(join(folder, 'locales')))
      let begin = (): void => {}
      const begun = new Promise<void>((resolve) => (begin = resolve))
      let isClosing = false
      app.get('/', async (ctx) => {
        begin()
        while (!isClosing) await delay(5)
        await delay(50)
        sendMail(ctx, { to: 'ada@example.com', name: 'welcome', locals: { name: 'Ada', url: '/' } })
        ctx.status = 204
      })
      const address = await app.listen(0)
      const response = fetch(address)
      await begun
      const closing = app.close()
      isClosing = true
      expect((await response).status).to.equal(204)
      await closing
    })
    expect(mail?.to).to.deep.equal(['ada@example.com'])
  })

  it('are rendered in production after the response, whose time does not tell that there is a mail', async () => {
    const moments: string[] = []
    const rendering = (ctx: Context) =>
      void moments.push(`rendered ${ctx.res.closed ? 'after' : 'before'} the response`)
    writeFileSync(join(folder, 'templates/mails/late.pug'), '- rendering()\np= url\n')
    const { logger, text } = captureLog()
    process.env['BASE_URL'] = 'https://shop.example'
    try {
      const received = await receive(async (url) => {
        const site = await open(
          { url },
          { env: 'production', secret: 'x'.repeat(40), helpers: { rendering }, logger },
        )
        for (const path of ['/?name=late', '/?name=missing', '/?name=late&fails=1'])
          moments.push(String((await site.post(path)).status))
        await site.close()
      })
      expect(moments.toSorted()).to.deep.equal(['200', '200', '500', 'rendered after the response'])
      expect(received.map(({ text }) => text.includes('https://shop.example/start'))).to.deep.equal([true])
      expect(text()).to.include('the mail missing was not sent')
    } finally {
      delete process.env['BASE_URL']
    }
  })

  it('have one recipient, and no headers from a visitor', async () => {
    const [mail, ...more] = await receive(async (url) => {
      const site = await open({ url })
      expect(
        (await site.post('/', { json: { name: 'Ada\r\nBcc: eve@example.com\r\n\r\nHi' } })).status,
      ).to.equal(200)
      for (const to of [
        'ada@example.com, eve@example.com',
        'ada@example.com;eve@example.com',
        'ada@example.com\r\nBcc: eve@example.com',
        'ada@example.com\nRCPT TO:<eve@example.com>',
        'Ada <ada@example.com>, Eve <eve@example.com>',
        'Friends: ada@example.com, eve@example.com;',
        'ada@example.com <eve@example.com>',
        'Ada',
        '',
      ])
        expect((await site.post('/', { json: { to } })).status, to).to.equal(500)
      await site.close()
    })
    expect([mail?.to, more]).to.deep.equal([['ada@example.com'], []])
    const [headers] = mail?.text.split('\r\n\r\n') ?? []
    expect(headers)
      .to.match(/^Subject: Welcome, Ada Bcc: eve@example\.com/m)
      .and.not.match(/^Bcc/m)
  })

  it('accept a recipient with a name', async () => {
    const site = await open()
    const all = ['Ada <ada@example.com>', '"Lovelace, Ada" <ada@example.com>', 'Zoë Ñ <zoe@example.com>']
    for (const to of all) expect((await site.post('/', { json: { to } })).status).to.equal(200)
    await site.close()
    expect(mails.all.map(({ to }) => to)).to.deep.equal(all)
  })

  it('delay no response if the mail server does not respond', async () => {
    const silent = createServer()
    await once(silent.listen(0, '127.0.0.1'), 'listening')
    const { port } = silent.address() as { port: number }
    const connected = once(silent, 'connection')
    const { logger, text } = captureLog()
    const site = await open({ url: `smtp://127.0.0.1:${port}` }, { logger })
    const response = await site.post('/')
    const [socket] = (await connected) as [Socket]
    expect([response.status, text()]).to.satisfy(
      ([status, log]: [number, string]) => status === 200 && !/not sent/.test(log),
    )
    socket.destroy()
    await site.close()
    silent.close()
    expect(text()).to.include('the mail welcome was not sent')
  })

  it('delay no response if the mail server is down, and the log says what was not sent', async () => {
    let log = ''
    const stream = new Writable({
      write(part: Buffer, _encoding, done) {
        log += part.toString()
        done()
      },
    })
    const site = await open({ url: 'smtp://127.0.0.1:1' }, { logger: pino({ level: 'error' }, stream) })
    expect((await site.post('/')).status).to.equal(200)
    await site.close()
    expect(log).to.include('the mail welcome was not sent').and.include('ECONNREFUSED')
  })

  it('are shown in development alone, in a frame without scripts', async () => {
    const site = await open({}, { env: 'development' })
    await site.post('/')
    const inbox = (await site.get('/kit/mails')).text
    expect(inbox).to.include('Welcome, Ada')
    // The style sheet of an application makes such a table fit a phone.
    expect(inbox)
      .to.include('<table class="records">')
      .and.to.include('<td data-label="To">ada@example.com</td>')
    const path = `/kit/mails/${mails.last?.number}`
    expect((await site.get(path)).text).to.match(
      /<iframe[^>]* sandbox="allow-top-navigation-by-user-activation"/,
    )
    const content = await site.get(`${path}/content`)
    expect(content.headers.get('Content-Security-Policy')).to.match(/^sandbox .*default-src 'none'/)
    expect((await site.get('/kit/mails/0')).status).to.equal(404)
    await site.close()
    const other = await open({}, { env: 'test' })
    expect((await other.get('/kit/mails')).status).to.equal(404)
    await other.close()
  })
})

describe('The text of a mail', () => {
  it('has the paragraphs and links of its HTML', () => {
    const html =
      '<head><style>p{}</style></head><h1>Hi&nbsp;Ada</h1>\n<p>One\ntwo<br>three &lt;4&gt; &#39;5&#x27;</p>'
    expect(
      toText(
        `${html}<ul><li>a</li><li>b</li></ul><a class="x" href="https://a.example">https://a.example</a>`,
      ),
    ).to.equal("Hi Ada\n\nOne two\nthree <4> '5'\n\n- a\n- b\n\nhttps://a.example")
  })

  it('keeps what stands for no character', () => {
    expect(toText('<p>&constructor; &#xD800; &#x110000; &copy;</p>')).to.equal(
      '&constructor; &#xD800; &#x110000; &copy;',
    )
  })

  it('has the cells of tables, and the descriptions of pictures', () => {
    const rows = '<tr><th>Item</th><td>2</td></tr><tr><th>Sum</th><td>5</td></tr>'
    const shop = '<p><a href="https://a.example"><img src="a.png" alt="Shop"></a></p>'
    const empty = '<p><a href="https://b.example"></a></p>'
    expect(toText(`<table>${rows}</table>${shop}${empty}`)).to.equal(
      'Item 2\nSum 5\n\nShop: https://a.example\n\nhttps://b.example',
    )
  })
})
