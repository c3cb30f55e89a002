import 'reflect-metadata'
import { app } from './app.js'

await app.listen()
