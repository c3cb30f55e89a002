/**
 * A process that accepts invitations all at once, until it is killed: `URL`, and then pairs of a link's token and a user's bearer
 * token. It prints a line for each response.
 */
import 'reflect-metadata'
import { open, teamsApplication } from '../applications/teams.js'
import { Site } from '../site.js'

const [url = '', ...pairs] = process.argv.slice(2)
const { app } = teamsApplication(await open(url))
const site = await Site.open(app)
await Promise.all(pairs.map(accept))
await site.close()

async function accept(pair: string): Promise<void> {
  const [token, bearer] = pair.split(' ')
  const headers = { authorization: `Bearer ${bearer}` }
  const { status } = await site.put('/invitation', { accept: 'json', headers, json: { token } })
  console.log(status)
}
