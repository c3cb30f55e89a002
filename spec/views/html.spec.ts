import { expect } from 'chai'
import { attributes, escapeHtml, html } from '../../src/views/html.js'

describe('html', () => {
  it('escapes interpolated values', () => {
    const title = `"><script>alert('1') & more</script>`
    expect(String(html`<p title="${title}">${title}</p>`)).to.equal(
      '<p title="&quot;&gt;&lt;script&gt;alert(&#39;1&#39;) &amp; more&lt;/script&gt;">' +
        '&quot;&gt;&lt;script&gt;alert(&#39;1&#39;) &amp; more&lt;/script&gt;</p>',
    )
  })

  it('keeps HTML that it has created', () => {
    expect(String(html`<p>${html`<b>${'<'}</b>`}</p>`)).to.equal('<p><b>&lt;</b></p>')
  })

  it('joins a list, and escapes its text', () => {
    expect(String(html`${[html`<br />`, '<br />']}`)).to.equal('<br />&lt;br /&gt;')
  })

  it('shows nothing for null, undefined and false, and shows 0', () => {
    expect(String(html`${null}${undefined}${false}${0}`)).to.equal('0')
  })

  it('converts to a string like any template literal', () => {
    // oxfmt-ignore
    expect(String(html`<p>\u00e9\n${1}\t</p>`)).to.equal('<p>é\n1\t</p>')
  })

  it('does not use interpolated values as patterns', () => {
    expect(String(html`${'$& \\n'}`)).to.equal('$&amp; \\n')
  })
})

describe('attributes', () => {
  it('escapes values', () => {
    expect(String(attributes({ value: '" onfocus="alert(1)' }))).to.equal(
      ' value="&quot; onfocus=&quot;alert(1)"',
    )
  })

  it('writes true as a name without a value, and omits null, undefined and false', () => {
    expect(
      String(attributes({ required: true, a: null, b: undefined, c: false, rows: 0, value: '' })),
    ).to.equal(' required rows="0" value=""')
  })
})

describe('escapeHtml', () => {
  it('escapes the five characters with a meaning in HTML', () => {
    expect(escapeHtml(`a&<>"'b`)).to.equal('a&amp;&lt;&gt;&quot;&#39;b')
  })
})
