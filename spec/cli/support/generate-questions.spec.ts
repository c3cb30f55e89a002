import { expect } from 'chai'
import { PassThrough } from 'node:stream'
import { askForArguments } from '../../../src/cli/support/generate-questions.js'
import { Application } from '../../support/applications/generated.js'
import { failure } from '../../support/failure.js'

const [ENTER, DOWN, SPACE, CTRL_C] = ['\r', '\u001B[B', ' ', '\u0003']

describe('The questions of kit generate', () => {
  let app: Application

  beforeEach(() => {
    app = Application.web()
  })
  afterEach(() => app.remove())

  /** Answers each question when it is shown: pairs of a part of its text and the keys. */
  function ask(...answers: readonly (readonly [question: string, keys: string])[]): Promise<string[]> {
    const [input, output] = [new PassThrough(), new PassThrough()]
    const left = [...answers]
    let shown = ''
    output.on('data', (chunk: Buffer) => {
      shown += chunk.toString()
      const [next] = left
      if (!next || !shown.includes(next[0])) return
      left.shift()
      shown = ''
      setImmediate(() => input.write(next[1]))
    })
    return askForArguments(app.folder, { input, output })
  }

  it('make the command of a resource with its attributes and options', async () => {
    expect(
      await ask(
        ['What do you want', ENTER],
        ['Its name', `post${ENTER}`],
        ['Attribute 1', `title${ENTER}`],
        ['The type of title', ENTER],
        ['May title be empty', ENTER],
        ['Attribute 2', `body${ENTER}`],
        ['The type of body', DOWN + ENTER],
        ['May body be empty', DOWN + ENTER],
        ['Attribute 3', ENTER],
        ['Options', DOWN + SPACE + ENTER],
      ),
    ).to.deep.equal(['resource', 'post', 'title:string', 'body:nulls.text', '--spec=full', '--locking'])
  })

  it('offer the parents and the owner that there are, and reject a wrong attribute at once', async () => {
    app.write('src/models/user.ts', '')
    expect(
      await ask(
        ['What do you want', ENTER],
        ['Its name', `note${ENTER}`],
        ['Attribute 1', `created_at${ENTER}`],
        ['The type of created_at', ENTER],
        ['May created_at be empty', ENTER],
        ['created_at', `text${ENTER}`],
        ['The type of text', ENTER],
        ['May text be empty', ENTER],
        ['Attribute 2', ENTER],
        ['--owner=user', ENTER],
        ['a part of another resource', DOWN + ENTER],
      ),
    ).to.deep.equal(['resource', 'note', 'text:string', '--spec=full', '--parent=user'])
  })

  it('end with Ctrl+C, and nothing is generated', async () => {
    const error = (await failure(ask(['What do you want', CTRL_C]))) as Error
    expect(error.message).to.equal('Nothing was generated.')
  })
})
