/** Serves claims from the database of `CLAIMS_URL`. */
import 'reflect-metadata'
import { claimsApp, openClaimsAt } from './claims.js'

const database = await openClaimsAt(process.env['CLAIMS_URL'] ?? '')
process.send?.(await claimsApp(database).listen(0, '127.0.0.1'))
