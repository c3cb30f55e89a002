import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'chai'
import type { DatabaseSettings } from '../../../src/index.js'
import { Host, note, repeat, type Statuses } from './host.js'
import { requests } from './programs.js'

/**
 * Creates posts on a host for each database URL, half of which fail, and whose jobs copy them. One host is killed and replaced
 * meanwhile. Expects one copy for each post.
 */
export async function copyPosts(
  settings: readonly DatabaseSettings[],
  query: (sql: string) => Promise<object[]>,
): Promise<void> {
  const start = (one: DatabaseSettings) => Host.start(one, undefined, { HOST_ENV: 'production' })
  const hosts = await Promise.all(settings.map(start))
  const statuses: Statuses = new Map()
  const created: string[] = []
  const times = requests(1000)
  let replaced: Promise<unknown> | undefined
  await repeat({ times, atOnce: 20 }, async (index) => {
    const title = index % 2 === 0 ? `original ${index}` : `fails ${index}`
    const answer = await hosts[index % hosts.length]?.post('/copies', { title })
    if (!answer) return
    note(statuses, answer)
    if (answer.status === 201) created.push(title)
    if (created.length > times / 6 && settings[0])
      replaced ??= Promise.all([hosts[0]?.remove(), start(settings[0]).then((host) => (hosts[0] = host))])
    if (answer.status === 0) await replaced
  })
  await replaced
  while ((await query('SELECT id FROM jobs')).length > 0) await delay(100)
  for (const host of hosts) await host.remove('SIGTERM')
  const counted = JSON.stringify([...statuses])
  console.log(`      ${counted}`)
  expect([...statuses.keys()].filter((status) => ![0, 201, 500, 503].includes(status))).to.deep.equal([])
  const titlesOf = async (like: string): Promise<string[]> => {
    const rows = await query(`SELECT title FROM posts WHERE title LIKE '${like} %' ORDER BY title`)
    return rows.map((row) => String(Reflect.get(row, 'title')))
  }
  const originals = await titlesOf('original')
  expect(originals).to.include.members(created)
  expect(await titlesOf('copy')).to.deep.equal(originals.map((title) => `copy of ${title}`))
  expect(await titlesOf('fails')).to.deep.equal([])
}
