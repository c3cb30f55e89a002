import { Database } from 'resource-kit'
import ormconfig from '../ormconfig.js'

/** The database of the current environment, configured in ormconfig.ts. */
export const database = new Database(ormconfig)
