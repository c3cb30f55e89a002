// Keep this import first: the decorators of the other files need it.
import 'reflect-metadata'
import { app } from './app.js'

await app.listen()
