// Takes the pictures of examples/blog that README.md and docs/ show. It needs Chromium.
import { mochaGlobalSetup, mochaGlobalTeardown } from '../dist/spec/support/setup.js'
import { takePictures } from '../dist/spec/support/documentation/pictures.js'

// The database of the example is one of a run of specs.
await mochaGlobalSetup()
try {
  await takePictures()
} finally {
  await mochaGlobalTeardown()
}
