import { expect } from 'chai'
import { BadRequest, HttpError } from '../../../src/errors.js'
import { parseXml } from '../../../src/http/body/xml-reader.js'
import { rootName, toXml, XmlList } from '../../../src/http/formats/xml.js'
import { failure } from '../../support/failure.js'

const declaration = '<?xml version="1.0" encoding="UTF-8"?>\n'

describe('parseXml(text)', () => {
  const documents: Array<[what: string, text: string, fields: unknown]> = [
    ['elements as text', '<post><title>A</title><votes>1</votes></post>', { title: 'A', votes: '1' }],
    ['a root with any name', '<x><title>A</title></x>', { title: 'A' }],
    ['a declaration', `${declaration}<post><title>A</title></post>`, { title: 'A' }],
    ['a byte order mark', '\ufeff<post><title>A</title></post>', { title: 'A' }],
    ['an empty root', '<post/>', {}],
    ['a root with only text', '<post>text</post>', {}],
    ['a root that is nil', '<post nil="true"/>', {}],
    ['empty elements as empty text', '<post><a/><b></b></post>', { a: '', b: '' }],
    ['nil', '<post><a nil="true"/><b nil="true">text</b></post>', { a: null, b: null }],
    [
      'other attributes named nil as text',
      '<post><a nil="false">1</a><b nil="1">2</b></post>',
      { a: '1', b: '2' },
    ],
    ['repeated elements as a list', '<post><a>1</a><a nil="true"/><a/></post>', { a: ['1', null, ''] }],
    ['nested elements', '<post><a><b>1</b><b>2</b></a></post>', { a: { b: ['1', '2'] } }],
    ['elements without their attributes', '<post id="1"><a lang="en">1</a></post>', { a: '1' }],
    ['white space in text', '<post>\n  <a> x\n y </a>\n</post>', { a: ' x\n y ' }],
    ['CDATA', '<post><a><![CDATA[<b>&amp;</b>]]></a></post>', { a: '<b>&amp;</b>' }],
    ['CDATA between text', '<post><a>1<![CDATA[<]]>2</a></post>', { a: '1<2' }],
    ["XML's five entities", '<post><a>&amp;&lt;&gt;&quot;&apos;</a></post>', { a: '&<>"\'' }],
    ['entities once', '<post><a>&amp;lt;</a></post>', { a: '&lt;' }],
    ['numeric character references', '<post><a>&#65;&#x42;&#13;&#128512;</a></post>', { a: 'AB\r😀' }],
    ['a DOCTYPE in CDATA', '<post><a><![CDATA[<!DOCTYPE html>]]></a></post>', { a: '<!DOCTYPE html>' }],
    ['line ends of other systems', '<post><a>1\r\n2\r3</a></post>', { a: '1\n2\n3' }],
    [
      'entities in CDATA, comments and instructions as text',
      '<?x &x;?><a><!-- &x; --><b><![CDATA[&x;]]></b></a>',
      { b: '&x;' },
    ],
    [
      'elements with the name of an item as a list',
      '<post><label_ids><label_id>1</label_id><label_id>2</label_id></label_ids></post>',
      { label_ids: ['1', '2'] },
    ],
    ['a list of one item', '<post><ids><id>1</id></ids></post>', { ids: ['1'] }],
    [
      'other elements beside them as an object',
      '<post><ids><id>1</id><x/></ids></post>',
      { ids: { id: '1', x: '' } },
    ],
    ['elements between comments', '<post><!-- <a>1</a> --><a>2</a></post><!-- end -->', { a: '2' }],
    ['elements between processing instructions', '<?x y?><post><?php echo ?><a>1</a></post>', { a: '1' }],
    [
      'prefixes as part of names',
      '<n:post xmlns:n="urn:n"><n:a>1</n:a><a>2</a></n:post>',
      { 'n:a': '1', a: '2' },
    ],
    ['a default namespace', '<post xmlns="urn:n"><a>1</a></post>', { a: '1' }],
    ['non-ASCII names', '<post><größe>1</größe></post>', { größe: '1' }],
  ]
  for (const [what, text, fields] of documents) {
    it(`reads ${what}`, async () => {
      expect(await parseXml(text)).to.deep.equal(fields)
    })
  }

  const bomb = `<!DOCTYPE x [<!ENTITY a "ha">${'<!ENTITY b "&a;&a;&a;&a;">'.repeat(20)}]><post><a>&b;</a></post>`
  const broken: Array<[what: string, text: string]> = [
    ['an empty text', ''],
    ['white space', ' \n '],
    ['text', 'title=A'],
    ['JSON', '{"title":"A"}'],
    ['a declaration alone', '<?xml version="1.0"?>'],
    ['a comment alone', '<!-- -->'],
    ['an unclosed root', '<post><a>1</a>'],
    ['an unclosed tag', '<post'],
    ['wrong nesting', '<post><a><b></a></b></post>'],
    ['an end tag without a start tag', '</post>'],
    ['two roots', '<post></post><post></post>'],
    ['two empty roots', '<post/><post/>'],
    ['two roots with different names', '<post/><comment/>'],
    ['text after the root', '<post></post>text'],
    ['text before the root', 'text<post/>'],
    ['an attribute without quotes', '<post a=1></post>'],
    ['an attribute without a value', '<post a></post>'],
    ['a repeated attribute', '<post a="1" a="2"/>'],
    ['an unclosed attribute', '<post a="1></post>'],
    ['a bare ampersand', '<post><a>this & that</a></post>'],
    ['an undefined entity', '<post><a>&foo;</a></post>'],
    ['an entity of HTML', '<post><a>&nbsp;</a></post>'],
    ['an undefined entity in an attribute', '<post a="&foo;"/>'],
    ['a reference to a character that XML does not allow', '<post><a>&#0;</a></post>'],
    ['a reference to half a surrogate pair', '<post><a>&#xD800;</a></post>'],
    ['an entity without an end', '<post><a>&amp</a></post>'],
    ['an entity with the name of an inherited property', '<post><a>&constructor;</a></post>'],
    ['a name that begins with a digit', '<post><1a/></post>'],
    ['an unclosed CDATA section', '<post><a><![CDATA[x</a></post>'],
    ['an unclosed comment', '<post><a><!-- x</a></post>'],
    ['a DOCTYPE', '<!DOCTYPE post><post/>'],
    ['a DOCTYPE in lower case', '<!doctype post><post/>'],
    ['an external entity', '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><post><a>&a;</a></post>'],
    ['an entity bomb', bomb],
    ['__proto__', '<post><__proto__><a>1</a></__proto__></post>'],
    ['deep nesting', '<a>'.repeat(1000) + '</a>'.repeat(1000)],
    ['9,000 open elements', '<a>'.repeat(9000)],
  ]
  for (const [what, text] of broken) {
    it(`rejects ${what}`, async () => {
      expect(await failure(parseXml(text))).to.be.instanceOf(BadRequest)
    })
  }

  it('keeps its error message short', async () => {
    expect(await failure(parseXml('<abc>'.repeat(10_000))))
      .to.be.instanceOf(BadRequest)
      .with.property('message')
      .with.length.below(300)
  })

  it('does not pollute prototypes', async () => {
    const fields = await parseXml('<post __proto__="x"><toString>1</toString><a __proto__="y">1</a></post>')
    expect(fields).to.include({ a: '1', toString: '1' })
    expect(Object.getPrototypeOf(fields)).to.equal(Object.prototype)
    expect(String({})).to.equal('[object Object]')
  })

  for (const piece of [
    '<a/>',
    '<a b="1"/>',
    '<a>&amp;</a>',
    '&amp;',
    '<![CDATA[',
    '<!--',
    '<a ',
    '<a b="',
    '<?x ',
    ']]>',
    ' ',
  ]) {
    it(`reads or rejects 128 KiB of ${piece}`, async () => {
      for (const start of ['<post>', '<post>&amp;']) {
        const error = await parseXml(`${start}${piece.repeat(131_072 / piece.length)}</post>`).catch(
          (one: unknown) => one,
        )
        if (error instanceof Error) expect(error).to.be.instanceOf(HttpError)
      }
    })
  }
})

describe('toXml(value, root, namespace)', () => {
  it('applies toJSON, as JSON does, also within a value', () => {
    const secretive = { secret: 'hunter2', toJSON: (name: string) => ({ name }) }
    const xml = '<posts><post><name>post</name></post></posts>'
    expect(toXml([secretive], 'posts')).to.equal(`${declaration}${xml}\n`)
    expect(toXml({ at: new Date(Number.NaN) }, 'post')).to.equal(
      `${declaration}<post><at nil="true"/></post>\n`,
    )
  })

  it('writes nil where JSON has null, and leaves out what JSON leaves out', () => {
    const value = { a: NaN, b: Infinity, c: [() => 1], d: () => 1, e: Symbol('e') }
    expect(toXml(value, 'r')).to.equal(
      `${declaration}<r><a nil="true"/><b nil="true"/><c><item nil="true"/></c></r>\n`,
    )
  })

  const values: Array<[what: string, value: unknown, xml: string]> = [
    ['text', { a: 'x' }, '<r><a>x</a></r>'],
    ['numbers and booleans', { a: 1.5, b: 10n, c: false }, '<r><a>1.5</a><b>10</b><c>false</c></r>'],
    ['a date in UTC', { a: new Date('2026-01-02T03:04:05+01:00') }, '<r><a>2026-01-02T02:04:05.000Z</a></r>'],
    ['null as nil', { a: null }, '<r><a nil="true"/></r>'],
    ['a missing value as nil', null, '<r nil="true"/>'],
    ['empty text as an empty element', { a: '' }, '<r><a/></r>'],
    ['an object without its undefined values and functions', { a: undefined, b: () => 1 }, '<r/>'],
    ['an object in an object', { a: { b: 1 } }, '<r><a><b>1</b></a></r>'],
    [
      'a list by the singular of its name',
      { posts: ['a', 'b'] },
      '<r><posts><post>a</post><post>b</post></posts></r>',
    ],
    ['a list of a name without a plural', { data: [1] }, '<r><data><datum>1</datum></data></r>'],
    ['lists in lists', { a: [[1], []] }, '<r><a><item><item>1</item></item><item/></a></r>'],
    [
      'a list whose elements have a name',
      new XmlList('message', ['a', 'b']),
      '<r><message>a</message><message>b</message></r>',
    ],
    ['markup as text', { a: '<b a="1">&\r' }, '<r><a>&lt;b a=&quot;1&quot;&gt;&amp;&#13;</a></r>'],
    [
      'characters that XML cannot contain as the replacement character',
      { a: '\0\u0001\u000b\uFFFE\ud800x' },
      '<r><a>\ufffd\ufffd\ufffd\ufffd\ufffdx</a></r>',
    ],
    ['tabs and line breaks', { a: '\t\n' }, '<r><a>\t\n</a></r>'],
    [
      'an invalid name as an attribute',
      { 'a b': 1, '2': 2, '<': 3 },
      '<r><item name="2">2</item><item name="a b">1</item><item name="&lt;">3</item></r>',
    ],
    ['a name that XML reserves as an attribute', { xmlns: 'x' }, '<r><item name="xmlns">x</item></r>'],
    ['an empty name', { '': 1 }, '<r><item name="">1</item></r>'],
  ]
  for (const [what, value, xml] of values) {
    it(`writes ${what}`, () => {
      expect(toXml(value, 'r')).to.equal(`${declaration}${xml}\n`)
    })
  }

  it('gives the root its namespace', () => {
    expect(toXml({ a: 1 }, 'problem', 'urn:x')).to.equal(
      `${declaration}<problem xmlns="urn:x"><a>1</a></problem>\n`,
    )
  })

  const texts = [
    'plain',
    ' white  space ',
    'line\nbreak',
    '\r\n',
    '\t',
    '<a href="x">&amp;</a>',
    ']]>',
    '<!-- -->',
    '&#38;',
    '😀 ä',
    '\ufffd',
  ]
  for (const text of texts) {
    it(`writes ${JSON.stringify(text)} so that parsing returns the same text`, async () => {
      expect(await parseXml(toXml({ text, gone: null, empty: '' }, 'post'))).to.deep.equal({
        text,
        gone: null,
        empty: '',
      })
    })
  }
})

describe('rootName(value, resource)', () => {
  class BlogPost {
    a = 1
  }
  const resource = { plural: 'entries', singular: 'entry' }

  it('is the name of the class, in the plural for a list', () => {
    expect(rootName(new BlogPost(), resource)).to.equal('blog_post')
    expect(rootName([new BlogPost()], resource)).to.equal('blog_posts')
  })

  it('is the name of the resource for a value without a class', () => {
    expect(rootName({ a: 1 }, resource)).to.equal('entry')
    expect(rootName([], resource)).to.equal('entries')
    expect(rootName([{ a: 1 }], resource)).to.equal('entries')
  })

  it('is "record" without a class and a resource', () => {
    expect(rootName({})).to.equal('record')
    expect(rootName(null)).to.equal('record')
    expect(rootName(Object.create(null))).to.equal('record')
    expect(rootName([])).to.equal('records')
  })

  it('ignores a value’s own property "constructor"', () => {
    expect(rootName({ constructor: 'x' }, resource)).to.equal('entry')
    expect(rootName({ constructor: null }, resource)).to.equal('entry')
  })
})
