// Takes the pictures and records the terminals that README.md and docs/ show. It needs Chromium.
import { mochaGlobalSetup, mochaGlobalTeardown } from '../dist/spec/support/setup.js'
import { takeCapabilityPictures } from '../dist/spec/support/documentation/capability-pictures.js'
import { takePictures } from '../dist/spec/support/documentation/pictures.js'
import { recordTerminals } from '../dist/spec/support/documentation/recordings.js'

// The databases of the examples are those of a run of specs.
await mochaGlobalSetup()
try {
  if (process.argv[2] !== 'terminals') {
    await takePictures()
    await takeCapabilityPictures()
  }
  await recordTerminals()
} finally {
  await mochaGlobalTeardown()
}
process.exit()
