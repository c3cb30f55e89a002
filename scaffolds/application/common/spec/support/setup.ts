import './environment.js'
import 'reflect-metadata'
import { hooks } from './app.js'

/** Around all specs the application listens on a free port, with its test database migrated. */
export const mochaHooks = hooks
