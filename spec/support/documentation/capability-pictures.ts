import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { startBrowser } from '../browser.js'
import { kit, newApplication, root } from '../kit.js'
import { DevelopmentServer } from '../processes/development-server.js'
import { openForPicture, takePicture } from './pictures.js'

/** The commands of the pages of the handbook. */
const commands = [
  ['resource', 'agreement', 'title', 'amount:decimal', '--history', '--trash'],
  ['resource', 'photo', 'title', 'image:image'],
  ['resource', 'part', 'sku:string:unique', 'name', 'price:nulls.decimal', '--csv', '--import=sku'],
  ['resource', 'item', 'name', 'price:decimal'],
  ['resource', 'order', 'number:string:unique', '--nested', 'line item:references quantity:int'],
  ['auth'],
  ['team', 'branch', '--roles', 'owner,manager,clerk,viewer'],
  ['resource', 'rental', 'number', '--owner', 'branch'],
]

const wrongParts = 'sku;name;price\n007;Bolt;12,50\n008;;3,00\n009;Nut;1.000\n'

/** How a signed-in user opens the page of each picture. */
const pictures: Record<string, (page: Page) => Promise<unknown>> = {
  history: async (page) => {
    const path = await create(page, '/agreements', { title: 'Lease of the workshop', amount: '950.00' })
    await send(page, 'PUT', path, { amount: '990.00' })
    await page.goto(`${path}/history`)
  },
  trash: async (page) => {
    const path = await create(page, '/agreements', { title: 'Insurance of the van', amount: '320.00' })
    await send(page, 'DELETE', path)
    await page.goto('/agreements/trash')
  },
  'photo-error': async (page) => {
    await page.goto('/photos/new')
    await page.getByLabel('Title').fill(' ')
    await page.getByLabel('Image').setInputFiles(join(root, 'docs/images/post-light.png'))
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('alert').waitFor()
  },
  'order-error': async (page) => {
    await create(page, '/items', { name: 'Tea', price: '1.50' })
    await create(page, '/items', { name: 'Cup', price: '12.00' })
    await page.goto('/orders/new')
    await page.getByLabel('Number').fill('2026-17')
    for (const [index, item, quantity] of [
      [0, 'Tea', '3'],
      [1, 'Cup', '-'],
    ] as const) {
      await page.locator(`[name="lines[${index}][item_id]"]`).selectOption({ label: item })
      if (quantity !== '-') await page.locator(`[name="lines[${index}][quantity]"]`).fill(quantity)
    }
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('alert').waitFor()
  },
  'import-errors': async (page) => {
    await page.goto('/parts/import')
    const file = { name: 'parts.csv', mimeType: 'text/csv', buffer: Buffer.from(wrongParts) }
    await page.locator('#file').setInputFiles(file)
    await page.getByRole('button', { name: 'Import', exact: true }).click()
    await page.getByRole('alert').waitFor()
  },
  rentals: async (page) => {
    const path = await create(page, '/branches', { name: 'Berlin' })
    for (const number of ['B-1001', 'B-1002']) await create(page, `${path}/rentals`, { number })
    await page.goto(`${path}/rentals`)
  },
}

/** Takes the pictures of the capabilities that no example has, in an application that the commands of the handbook have generated. */
export async function takeCapabilityPictures(): Promise<void> {
  const browser = await startBrowser()
  const { folder, remove } = await newApplication()
  for (const args of commands) await run(folder, 'generate', ...args)
  await run(folder, 'db', 'migrate')
  const server = await DevelopmentServer.start(folder)
  try {
    const data = { email: 'ada@example.com', password: 'correct horse battery staple' }
    for (const [index, [name, open]] of Object.entries(pictures).entries()) {
      const page = await openForPicture(browser, server.url)
      await send(page, 'POST', index === 0 ? '/registration' : '/session', data)
      await open(page)
      await takePicture(name, page)
      await page.context().close()
    }
  } finally {
    await browser.close()
    await server.stop()
    remove()
  }
}

async function run(folder: string, ...args: string[]): Promise<void> {
  const { status, errors } = await kit(folder, args)
  if (status !== 0) throw new Error(errors)
}

/** Creates a record, and returns its path. */
async function create(page: Page, path: string, data: object): Promise<string> {
  const { id } = await send(page, 'POST', path, data)
  return `${path}/${id}`
}

async function send(page: Page, method: string, path: string, data?: object): Promise<{ id: string }> {
  const response = await page.context().request.fetch(path, {
    method,
    headers: { Accept: 'application/json' },
    ...(data && { data }),
  })
  if (!response.ok()) throw new Error(`${method} ${path}: ${response.status()} ${await response.text()}`)
  return response.json() as Promise<{ id: string }>
}
