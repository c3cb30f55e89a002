import { Database } from 'resource-kit'
import ormconfig from '../ormconfig.js'

/** The database of this environment, as ormconfig.ts says. */
export const database = new Database(ormconfig)
