import { expect } from 'chai'
import { describeInBrowser } from '../support/browser.js'
import { currentDigests, recordedDigests } from '../support/documentation/pictures.js'

describeInBrowser('The pictures in docs/images', () => {
  it('show the current pages of the example (`npm run screenshots` takes them again)', async () => {
    expect(await currentDigests()).to.deep.equal(recordedDigests())
  })
})
