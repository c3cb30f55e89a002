import { expect } from 'chai'
import { ValidationErrors } from '../../../src/errors.js'
import type { FormOptions } from '../../../src/views/forms/fields.js'
import { Form } from '../../../src/views/forms/forms.js'
import type { Html } from '../../../src/views/html.js'
import type { ViewContext } from '../../../src/views/view-context.js'
import { viewContext } from '../../support/view-context.js'

const attack = '"><script>'
const escaped = '&quot;&gt;&lt;script&gt;'

class BlogPost {
  constructor(values: Record<string, unknown>) {
    Object.assign(this, values)
  }
}

function formOf(
  values: Record<string, unknown>,
  options: Partial<FormOptions> = {},
  context: Partial<ViewContext> = {},
) {
  return new Form(viewContext(context), new BlogPost(values), { action: '/blog_posts', ...options })
}

const texts: Record<string, string> = { 'blog_post.title': 'Titel', 'blog_post.state.draft': 'Entwurf' }

const german = (id: string) => texts[id] ?? id

/** The HTML without the white space between tags. */
const tight = (html: Html) => String(html).replaceAll(/>\s+</g, '><')

describe('form.hiddenFields()', () => {
  it('contains the token', () => {
    expect(tight(formOf({}, {}, { csrfToken: attack }).hiddenFields())).to.equal(
      `<input type="hidden" name="authenticity_token" value="${escaped}">`,
    )
  })

  it('contains a method that HTML forms cannot send', () => {
    expect(tight(formOf({}, { method: 'PUT' }).hiddenFields())).to.equal(
      '<input type="hidden" name="_method" value="PUT"><input type="hidden" name="authenticity_token" value="token">',
    )
  })

  it('is empty for a plain POST without a token', () => {
    expect(tight(formOf({}, {}, { csrfToken: undefined }).hiddenFields())).to.equal('')
  })
})

describe('form.errorSummary()', () => {
  it('is empty without errors', () => {
    expect(tight(formOf({}).errorSummary())).to.equal('')
    expect(tight(formOf({}, { errors: new ValidationErrors() }).errorSummary())).to.equal('')
  })

  it('links each message to its field, receives the focus and is announced', () => {
    const errors = new ValidationErrors().add('title', 'present', attack).add('body', 'present', 'Body?')
    expect(tight(formOf({}, { errors }).errorSummary())).to.equal(
      '<div class="error-summary" role="alert" tabindex="-1" autofocus>' +
        '<h2>Nothing was saved: there are 2 problems</h2>' +
        `<ul><li><a href="#blog_post_title">${escaped}</a></li><li><a href="#blog_post_body">Body?</a></li></ul></div>`,
    )
  })

  it('uses the singular for one error', () => {
    const errors = new ValidationErrors().add('title', 'present', 'Title?')
    expect(tight(formOf({}, { errors }).errorSummary())).to.contain(
      '<h2>Nothing was saved: there is a problem</h2>',
    )
  })
})

describe('A field', () => {
  it('has a label, which is the humanized attribute', () => {
    expect(tight(formOf({}).text('published_at', { required: true }))).to.equal(
      '<div class="field"><label for="blog_post_published_at">Published at</label>' +
        '<input id="blog_post_published_at" name="published_at" type="text" value="" required></div>',
    )
  })

  it('reads its label from the translation of model and attribute', () => {
    expect(tight(formOf({}, {}, { t: german }).text('title', { required: true }))).to.contain(
      '>Titel</label>',
    )
  })

  it('reads its label from its options, escaped', () => {
    expect(tight(formOf({}).text('title', { label: attack, required: true }))).to.contain(
      `>${escaped}</label>`,
    )
  })

  it('marks an optional attribute', () => {
    expect(tight(formOf({}).text('title'))).to.contain(
      'Title <span class="optional">(optional)</span></label>',
    )
  })

  it('is described by its hint', () => {
    expect(tight(formOf({}).text('title', { hint: attack, required: true }))).to.equal(
      '<div class="field"><label for="blog_post_title">Title</label>' +
        `<p class="hint" id="blog_post_title_hint">${escaped}</p>` +
        '<input id="blog_post_title" name="title" type="text" value="" required aria-describedby="blog_post_title_hint">' +
        '</div>',
    )
  })

  it('is marked and described by its errors', () => {
    const errors = new ValidationErrors().add('title', 'a', attack).add('title', 'b', 'Second.')
    expect(tight(formOf({}, { errors }).text('title', { hint: 'Short.', required: true }))).to.equal(
      '<div class="field"><label for="blog_post_title">Title</label>' +
        '<p class="hint" id="blog_post_title_hint">Short.</p>' +
        '<input id="blog_post_title" name="title" type="text" value="" required' +
        ' aria-describedby="blog_post_title_hint blog_post_title_error" aria-invalid="true">' +
        `<p class="error" id="blog_post_title_error">${escaped} Second.</p></div>`,
    )
  })

  it('shows the submitted value if it could not be read', () => {
    const submitted: Record<string, string> = { price: attack }
    const form = formOf({ price: 3, stock: 4 }, {}, { submittedValue: (_record, field) => submitted[field] })
    expect(tight(form.number('price'))).to.contain(`value="${escaped}"`)
    expect(tight(form.number('stock'))).to.contain('value="4"')
  })

  it('reads its name from the options of the form', () => {
    expect(tight(formOf({}, { name: 'post' }).text('title'))).to.contain('id="post_title"')
  })
})

describe('The input of', () => {
  const moment = new Date('2026-05-01T10:30:00Z')
  const rows: Array<[kind: string, field: (form: Form) => Html, value: unknown, input: string]> = [
    [
      'text',
      (form) => form.text('it'),
      attack,
      `<input id="blog_post_it" name="it" type="text" value="${escaped}">`,
    ],
    [
      'an email address',
      (form) => form.text('it', { type: 'email' }),
      'a@b',
      '<input id="blog_post_it" name="it" type="email" value="a@b">',
    ],
    [
      'a password, which is never shown',
      (form) => form.text('it', { type: 'password' }),
      'secret',
      '<input id="blog_post_it" name="it" type="password">',
    ],
    [
      'text of several lines',
      (form) => form.textarea('it', { rows: 10 }),
      `\n${attack}`,
      `<textarea id="blog_post_it" name="it" rows="10">\n\n${escaped}</textarea>`,
    ],
    [
      'a number',
      (form) => form.number('it', { step: 'any' }),
      0,
      '<input id="blog_post_it" name="it" type="number" value="0" step="any">',
    ],
    [
      'a day',
      (form) => form.date('it'),
      '2026-05-01',
      '<input id="blog_post_it" name="it" type="date" value="2026-05-01">',
    ],
    ['a day that is a Date', (form) => form.date('it'), moment, 'type="date" value="2026-05-01">'],
    [
      'a time',
      (form) => form.time('it'),
      '10:30:00',
      '<input id="blog_post_it" name="it" type="time" value="10:30" step="any">',
    ],
    [
      'a time with seconds',
      (form) => form.time('it'),
      '10:30:05',
      'type="time" value="10:30:05" step="any">',
    ],
    [
      'a moment, which says that it is in UTC',
      (form) => form.dateTime('it'),
      moment,
      '<p class="hint" id="blog_post_it_hint">In UTC (coordinated universal time).</p>' +
        '<input type="hidden" name="it" value="2026-05-01T10:30+00:00">' +
        '<input id="blog_post_it" name="it" type="datetime-local" value="2026-05-01T10:30" step="any" aria-describedby="blog_post_it_hint">',
    ],
    [
      'a moment with seconds',
      (form) => form.dateTime('it'),
      new Date('2026-05-01T10:30:05.250Z'),
      'value="2026-05-01T10:30:05.25"',
    ],
    [
      'JSON',
      (form) => form.json('it', { rows: 10 }),
      { a: '<' },
      '<textarea id="blog_post_it" name="it" class="code" spellcheck="false" rows="10">\n{\n  &quot;a&quot;: &quot;&lt;&quot;\n}</textarea>',
    ],
    [
      'text with line breaks',
      (form) => form.text('it'),
      'a\nb',
      '<textarea id="blog_post_it" name="it">\na\nb<',
    ],
    [
      'a number that is none',
      (form) => form.number('it', { step: 1 }),
      NaN,
      'name="it" value="NaN" type="text">',
    ],
    ['a time with an offset', (form) => form.time('it'), '10:30:00+02', 'value="10:30:00+02" type="text">'],
    ['no JSON', (form) => form.json('it'), null, 'spellcheck="false"></textarea>'],
  ]
  for (const [kind, field, value, input] of rows) {
    it(kind, () => {
      expect(tight(field(formOf({ it: value })))).to.contain(input)
    })
  }
})

describe('form.checkbox(attribute)', () => {
  it('sends false if it is not checked', () => {
    expect(tight(formOf({ public: false }).checkbox('public'))).to.equal(
      '<div class="field checkbox"><input type="hidden" name="public" value="false">' +
        '<input id="blog_post_public" name="public" type="checkbox" value="true">' +
        '<label for="blog_post_public">Public</label></div>',
    )
  })

  it('sends an empty value instead of false if the column is NULL', () => {
    expect(tight(formOf({ public: null }).checkbox('public'))).to.contain(
      '<input type="hidden" name="public" value="">',
    )
  })

  it('is checked if the value is true', () => {
    expect(tight(formOf({ public: true }).checkbox('public'))).to.contain(
      'type="checkbox" value="true" checked>',
    )
  })

  it('is described by its hint and its errors', () => {
    const errors = new ValidationErrors().add('public', 'type.bool', 'Public?')
    const field = tight(formOf({}, { errors }).checkbox('public', { hint: 'For all.' }))
    expect(field)
      .to.contain('aria-describedby="blog_post_public_hint blog_post_public_error" aria-invalid="true"')
      .and.to.contain('<p class="hint" id="blog_post_public_hint">For all.</p>')
      .and.to.contain('<p class="error" id="blog_post_public_error">Public?</p>')
  })
})

describe('form.select(attribute, choices)', () => {
  it('lists choices with their translations, or humanized', () => {
    const form = formOf({ state: 'in_review' }, {}, { t: german })
    expect(tight(form.select('state', ['draft', 'in_review'], { required: true }))).to.contain(
      '<select id="blog_post_state" name="state" required>' +
        '<option value="draft">Entwurf</option><option value="in_review" selected>In review</option></select>',
    )
  })

  it('keeps a value that is not one of the choices, unless it has an error', () => {
    const errors = new ValidationErrors().add('state', 'isIn', 'State?')
    const old = { state: 'archived' }
    expect(tight(formOf(old).select('state', ['draft'], { required: true }))).to.contain(
      '<option value="draft">Draft</option><option value="archived" selected>Archived</option>',
    )
    expect(tight(formOf(old, { errors }).select('state', ['draft']))).not.to.contain('archived')
  })

  it('lists an empty choice unless it is required', () => {
    expect(tight(formOf({ state: 'draft' }).select('state', ['draft']))).to.contain(
      '<option value="">None</option><option value="draft" selected>Draft</option>',
    )
  })

  it('asks for a choice if it is required and empty', () => {
    expect(tight(formOf({}).select('state', ['draft'], { required: true }))).to.contain(
      '<option value="">Please choose</option><option value="draft">Draft</option>',
    )
  })

  it('lists values with labels, escaped', () => {
    const choices = [{ value: attack, label: attack }]
    expect(tight(formOf({ state: attack }).select('state', choices))).to.contain(
      `<option value="${escaped}" selected>${escaped}</option>`,
    )
  })

  it('lists numbers, and values that are numbers', () => {
    const labeled = [1, 3].map((value) => ({ value, label: `Level ${value}` }))
    expect(tight(formOf({ level: 3 }).select('level', [1, 3], { required: true }))).to.contain(
      '<option value="1">1</option><option value="3" selected>3</option>',
    )
    expect(tight(formOf({ level: 3 }).select('level', labeled, { required: true }))).to.contain(
      '<option value="1">Level 1</option><option value="3" selected>Level 3</option>',
    )
  })

  it('lists records that have a column value', () => {
    const colors = [{ id: '1', name: 'Red', value: '#f00' }]
    expect(tight(formOf({ color_id: '1' }).select('color_id', colors, { required: true }))).to.contain(
      '<option value="1" selected>Red</option>',
    )
  })

  it('lists records by their title, name or id', () => {
    const authors = [{ id: '1', title: 'Dr' }, { id: '2', name: 'Ada' }, { id: '3' }]
    expect(tight(formOf({ author_id: '2' }).select('author_id', authors, { required: true }))).to.equal(
      '<div class="field"><label for="blog_post_author_id">Author</label>' +
        '<select id="blog_post_author_id" name="author_id" required>' +
        '<option value="1">Dr</option><option value="2" selected>Ada</option><option value="3">3</option></select></div>',
    )
  })
})

describe('form.select(attribute, choices, { multiple: true })', () => {
  const labels = [
    { id: '1', name: 'bug' },
    { id: '2', name: 'docs' },
  ]

  it('selects several choices, and sends an empty list if none is selected', () => {
    const form = formOf({ label_ids: ['2'] })
    expect(tight(form.select('label_ids', labels, { multiple: true, required: true }))).to.equal(
      '<div class="field"><label for="blog_post_label_ids">Labels</label><input type="hidden" name="label_ids" value="">' +
        '<select id="blog_post_label_ids" name="label_ids" multiple required><option value="1">bug</option>' +
        '<option value="2" selected>docs</option></select></div>',
    )
  })
})

describe('form.checkboxes(attribute, choices)', () => {
  it('keeps a value that is not one of the choices', () => {
    const choices = [{ value: 1, label: 'One' }]
    expect(tight(formOf({ levels: [1, 9] }).checkboxes('levels', choices))).to.contain(
      'name="levels" value="9" checked><label for="blog_post_levels_2">9</label>',
    )
  })

  const labels = [
    { id: '1', name: 'bug' },
    { id: '2', name: attack },
  ]

  it('is a group of checkboxes below a hidden field that sends an empty list', () => {
    expect(tight(formOf({ label_ids: ['2'] }).checkboxes('label_ids', labels))).to.equal(
      '<fieldset class="field checkboxes"><legend>Labels</legend><input type="hidden" name="label_ids" value="">' +
        '<div class="choice"><input type="checkbox" id="blog_post_label_ids" name="label_ids" value="1">' +
        '<label for="blog_post_label_ids">bug</label></div>' +
        '<div class="choice"><input type="checkbox" id="blog_post_label_ids_2" name="label_ids" value="2" checked>' +
        `<label for="blog_post_label_ids_2">${escaped}</label></div></fieldset>`,
    )
  })

  it('is described by its hint and its errors, to which the first checkbox belongs', () => {
    const errors = new ValidationErrors().add('label_ids', 'references', 'Labels?')
    const field = tight(formOf({}, { errors }).checkboxes('label_ids', labels, { hint: 'Some.' }))
    expect(field)
      .to.contain(
        '<fieldset class="field checkboxes" aria-describedby="blog_post_label_ids_hint blog_post_label_ids_error">',
      )
      .and.to.contain('name="label_ids" value="1" aria-invalid="true">')
      .and.to.contain('<p class="hint" id="blog_post_label_ids_hint">Some.</p>')
      .and.to.contain('<p class="error" id="blog_post_label_ids_error">Labels?</p>')
  })

  it('states that there is nothing to choose from', () => {
    expect(tight(formOf({}).checkboxes('label_ids', []))).to.equal(
      '<fieldset class="field checkboxes" id="blog_post_label_ids"><legend>Labels</legend>' +
        '<input type="hidden" name="label_ids" value=""><p>There is nothing here yet.</p></fieldset>',
    )
  })

  it('labels words by their translations', () => {
    expect(tight(formOf({ state: ['draft'] }, {}, { t: german }).checkboxes('state', ['draft']))).to.contain(
      'value="draft" checked><label for="blog_post_state">Entwurf</label>',
    )
  })
})

describe('A field for records of ctx.choices(model)', () => {
  const list = { name: 'users', ids: ['users'], path: '/users' }
  const all = (...names: string[]) => ({
    records: names.map((name) => ({ id: name.toLowerCase(), name })),
    isComplete: true,
    collection: 'users',
  })
  const some = (...names: string[]) => ({ ...all(...names), isComplete: false })

  it('sorts the records in the order of the language', () => {
    const field = tight(formOf({}).select('user_id', all('zoe', 'Émile', 'Ada'), { required: true }))
    expect(field).to.match(/>Ada<.*>Émile<.*>zoe</)
    expect(tight(formOf({}).checkboxes('user_ids', all('zoe', 'Ada')))).to.match(/>Ada<.*>zoe</)
  })

  it('keeps a selected id that is not available, without a name', () => {
    const offered = { ...all('Ada'), unavailable: ['bob', 'carl'] }
    const field = tight(formOf({ user_id: 'bob' }).select('user_id', offered, { required: true }))
    expect(field).to.contain('<option value="ada">Ada</option><option value="bob" selected>Not available<')
    expect(field).not.to.contain('carl')
    const boxes = tight(formOf({ user_ids: ['ada', 'carl'] }).checkboxes('user_ids', offered))
    expect(boxes)
      .to.contain('value="carl" checked><label for="blog_post_user_ids_2">Not available</label>')
      .and.not.to.contain('bob')
  })

  it('is a text field for the id, with the current name and a link to the list, if there are too many', () => {
    const form = formOf({ user_id: 'ada' }, {}, { collections: () => [list] })
    expect(tight(form.select('user_id', some('Ada'), { required: true }))).to.equal(
      '<div class="field"><label for="blog_post_user_id">User</label><p class="hint" id="blog_post_user_id_hint">' +
        'Now: Ada. Enter the id of a record from this list: <a href="/users">Users</a></p>' +
        '<input id="blog_post_user_id" name="user_id" type="text" value="ada" required aria-describedby="blog_post_user_id_hint">' +
        '</div>',
    )
  })

  it('has no link if there is no list, and no name if nothing is chosen', () => {
    expect(tight(formOf({ user_id: null }).select('user_id', some()))).to.contain(
      '<p class="hint" id="blog_post_user_id_hint">Enter the id of a record.</p>' +
        '<input id="blog_post_user_id" name="user_id" type="text" value="" ',
    )
  })

  it('has boxes for the selected records and a text field for another id, if there are too many for a list', () => {
    const form = formOf({ user_ids: ['ada'] }, {}, { collections: () => [list] })
    const group = tight(form.checkboxes('user_ids', some('Ada')))
    expect(group)
      .to.contain('<p class="hint" id="blog_post_user_ids_hint">Enter the id of a record from this list:')
      .and.to.contain('name="user_ids" value="ada" checked><label for="blog_post_user_ids">Ada</label>')
      .and.to.contain(
        '<label for="blog_post_user_ids_2">Id of another record</label>' +
          '<input type="text" id="blog_post_user_ids_2" name="user_ids" value="">',
      )
    expect(tight(form.select('user_ids', some('Ada'), { multiple: true }))).to.equal(group)
  })
})

describe('form.file(attribute)', () => {
  it('lets the button send the form as multipart', () => {
    const form = formOf({ cover: 'x' })
    expect(tight(form.submit())).to.equal('<button class="primary" type="submit">Save</button>')
    expect(tight(form.file('cover', { accept: 'image/*' }))).to.contain(
      '<input id="blog_post_cover" name="cover" type="file" accept="image/*">',
    )
    expect(tight(form.submit('Send'))).to.equal(
      '<button class="primary" type="submit" formenctype="multipart/form-data">Send</button>',
    )
  })
})
