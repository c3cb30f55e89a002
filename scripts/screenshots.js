// Takes the pictures of examples/blog that README.md and docs/ show. It needs Chromium.
import 'reflect-metadata'
import { takePictures } from '../dist/spec/support/pictures.js'

await takePictures()
