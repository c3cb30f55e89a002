import { expect } from 'chai'
import { viewHelpers } from '../../src/views/helpers.js'
import { viewContext } from '../support/view-context.js'

describe('viewHelpers(context)', () => {
  it('has every path function by its name', () => {
    const { postPath } = viewHelpers(viewContext({ paths: { postPath: () => '/posts/1' } }))
    expect(postPath?.()).to.equal('/posts/1')
  })

  it('shows the pending flash messages, escaped', () => {
    const flash = [{ type: 'success', message: 'Saved <b>.' }]
    expect(String(viewHelpers(viewContext({ flash })).flashMessages())).to.equal(
      '<p class="flash success">Saved &lt;b&gt;.</p>',
    )
  })

  it('reads the token and the messages only when a template uses them', () => {
    const context = {
      ...viewContext(),
      get csrfToken(): string {
        throw new Error('read too early')
      },
      get flash(): never {
        throw new Error('read too early')
      },
    }
    expect(Object.keys(viewHelpers(context))).to.include.members(['formFor', 'flashMessages'])
  })

  it('has the hidden fields for a form that is written by hand', () => {
    const { hiddenFields } = viewHelpers(viewContext({ csrfToken: 'abc' }))
    expect(String(hiddenFields())).to.equal('<input type="hidden" name="authenticity_token" value="abc">')
    expect(String(hiddenFields('DELETE'))).to.equal(
      '<input type="hidden" name="_method" value="DELETE"><input type="hidden" name="authenticity_token" value="abc">',
    )
  })

  it('labels attributes by their translation, or humanizes them', () => {
    const texts: Record<string, string> = { 'post.title': 'Titel' }
    const { label } = viewHelpers(viewContext({ t: (id) => texts[id] ?? id }))
    expect([label('post.title'), label('post.published_at')]).to.deep.equal(['Titel', 'Published at'])
  })

  it('checks for a translation with `has`', () => {
    const { label } = viewHelpers(viewContext({ t: (id) => id, has: (id) => id === 'post' }))
    expect(label('post')).to.equal('post')
  })

  it('sends a request with a button that works without JavaScript', () => {
    const { actionButton } = viewHelpers(viewContext())
    const compact = (button: unknown) => String(button).replaceAll(/>\s+</g, '><')
    expect(compact(actionButton('/posts/"1"/publish', '<Publish>'))).to.equal(
      '<form action="/posts/&quot;1&quot;/publish" method="post">' +
        '<input type="hidden" name="authenticity_token" value="token">' +
        '<button type="submit">&lt;Publish&gt;</button></form>',
    )
    expect(
      compact(actionButton('/session', 'Sign out', { method: 'DELETE', confirm: 'Leave "now"?' })),
    ).to.equal(
      '<form action="/session" method="post" data-confirm="Leave &quot;now&quot;?">' +
        '<input type="hidden" name="_method" value="DELETE">' +
        '<input type="hidden" name="authenticity_token" value="token">' +
        '<button type="submit">Sign out</button></form>',
    )
  })

  it('renders no form that runs a script, or sends its token to another site', () => {
    const { actionButton, deleteButton, formFor } = viewHelpers(viewContext())
    const wrong = [
      'javascript:alert(1)',
      ' JavaScript:alert(1)',
      'java\tscript:alert(1)',
      'data:text/html,x',
      'https://evil.example/',
      '//evil.example/',
      '/\\evil.example',
      '/\t/evil.example',
    ]
    for (const action of wrong) {
      expect(() => actionButton(action, 'Go'), action).to.throw('A form cannot be sent to')
      expect(() => deleteButton(action), action).to.throw('A form cannot be sent to')
      expect(() => formFor({}, { action }), action).to.throw('A form cannot be sent to')
    }
    for (const action of ['/', '', '?page=2', 'publish', '/posts/1?return=https://x', '/posts/a:b'])
      expect(String(actionButton(action, 'Go'))).to.contain(`action="${action}"`)
  })

  it('deletes with a form that works without JavaScript', () => {
    const button = String(viewHelpers(viewContext()).deleteButton('/posts/"1"'))
    expect(button.replaceAll(/>\s+</g, '><')).to.equal(
      '<form action="/posts/&quot;1&quot;" method="post" data-confirm="Are you sure? This cannot be undone.">' +
        '<input type="hidden" name="_method" value="DELETE">' +
        '<input type="hidden" name="authenticity_token" value="token">' +
        '<button class="danger" type="submit">Delete</button></form>',
    )
  })

  it('deletes with a configured label', () => {
    expect(String(viewHelpers(viewContext()).deleteButton('/posts/1', '<Remove>'))).to.contain(
      '>&lt;Remove&gt;</button>',
    )
  })
})
