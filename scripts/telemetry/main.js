// Sends the traced requests on the engine of KIT_ENGINE, with a secret, and waits to be stopped.
import 'reflect-metadata'
import { openBlogDatabase } from '../../dist/spec/support/applications/blog-database.js'
import { secretPages } from '../../dist/spec/support/applications/secret-pages.js'
import { sendTracedRequests } from '../../dist/spec/support/applications/traced-requests.js'
import { mochaGlobalTeardown, newDatabase } from '../../dist/spec/support/databases.js'

const url = await newDatabase()
try {
  const database = await openBlogDatabase(url)
  await database.close()
  await sendTracedRequests(url, process.env.SECRET, secretPages())
  console.log('sent')
  // The SDK still sends its last spans.
  setInterval(() => {}, 60_000)
} finally {
  await mochaGlobalTeardown()
}
