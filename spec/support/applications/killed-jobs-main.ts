import 'reflect-metadata'
import { app } from './killed-jobs-app.js'

await app.listen()
