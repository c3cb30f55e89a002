// Runs jobs by pg-boss or graphile-worker, each of which inserts one row in a transaction, and prints the jobs per second. The
// arguments are the name of the queue, the url of an empty database, the number of jobs and, for pg-boss, its batch size.
import { Logger, makeWorkerUtils, run } from 'graphile-worker'
import { Pool } from 'pg'
import PgBoss from 'pg-boss'

const [name, connectionString, count, batchSize] = process.argv.slice(2)
const total = Number(count)
const pool = new Pool({ connectionString, max: 10 })
await pool.query('CREATE TABLE effects (id serial PRIMARY KEY, text text NOT NULL)')
let finished = 0
let end = () => {}
const ended = new Promise((resolve) => (end = resolve))

async function insert({ number }) {
  const client = await pool.connect()
  try {
    await client.query('BEGIN')
    await client.query('INSERT INTO effects (text) VALUES ($1)', [`effect ${number}`])
    await client.query('COMMIT')
  } finally {
    client.release()
  }
  if ((finished += 1) === total) end()
}

/** graphile-worker writes a line for each job to the standard output, which is where the result goes. */
const logger = new Logger(() => () => {})
const numbers = Array.from({ length: total }, (_, number) => number)
const queues = {
  async graphile() {
    const utils = await makeWorkerUtils({ pgPool: pool, logger })
    await utils.migrate()
    await pool.query(
      "SELECT graphile_worker.add_job('insert', json_build_object('number', n)) FROM generate_series(1, $1::int) n",
      [total],
    )
    return async () => {
      const own = new Pool({ connectionString, max: 12 })
      const runner = await run({
        pgPool: own,
        concurrency: 10,
        pollInterval: 500,
        noHandleSignals: true,
        taskList: { insert },
        logger,
      })
      await ended
      return () => runner.stop()
    }
  },
  async 'pg-boss'() {
    const boss = new PgBoss({ connectionString, max: 10 })
    await boss.start()
    await boss.createQueue('insert')
    for (let from = 0; from < total; from += 1000)
      await boss.insert(
        numbers.slice(from, from + 1000).map((number) => ({ name: 'insert', data: { number } })),
      )
    return async () => {
      const options = { batchSize: Number(batchSize), pollingIntervalSeconds: 0.5 }
      for (let worker = 0; worker < 10; worker += 1)
        await boss.work('insert', options, async (jobs) => {
          for (const { data } of jobs) await insert(data)
        })
      await ended
      return () => boss.stop({ graceful: false })
    }
  },
}
const work = await queues[name]()
const start = performance.now()
await work()
console.log(Math.round(total / ((performance.now() - start) / 1000)))
process.exit()
