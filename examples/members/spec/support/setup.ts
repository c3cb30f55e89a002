import './environment.js'
import 'reflect-metadata'
import { hooks } from './app.js'

/** Migrates the test database and starts the application on a free port before the specs, and stops it after them. */
export const mochaHooks = hooks
