/** Serves orders from the database of `LINES_URL`, and kills itself before the statement that has the number `KILL_AT`. */
import 'reflect-metadata'
import { linesApp, openLinesAt } from './lines.js'

const database = await openLinesAt(process.env['LINES_URL'] ?? '')
const killAt = Number(process.env['KILL_AT'])
let count = 0
database.logger = Object.assign(Object.create(database.logger), {
  logQuery(sql: string) {
    if (/^\s*(INSERT|UPDATE|DELETE|COMMIT)/i.test(sql) && (count += 1) === killAt)
      process.kill(process.pid, 'SIGKILL')
  },
})
process.send?.(await linesApp(database).listen(0, '127.0.0.1'))
