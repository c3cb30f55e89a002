/**
 * The fields that a browser sends if nobody changes the form of a page. It changes values that an input cannot hold, and sends line
 * breaks as CRLF; `unchanged-forms.spec.ts` compares it with Chromium.
 */
export function browserFields(page: string): [name: string, value: string][] {
  const fields = /<input([^>]*)>|<textarea([^>]*)>([^]*?)<\/textarea>|<select([^>]*)>([^]*?)<\/select>/g
  return [...page.replaceAll(/\r\n?/g, '\n').matchAll(fields)].flatMap(
    ([, input, textarea, content = '', select, options = '']) => {
      const name = attribute(input ?? textarea ?? select ?? '', 'name')
      if (name === undefined || name === 'authenticity_token') return []
      const values =
        textarea === undefined
          ? select === undefined
            ? valuesOfInput(input ?? '')
            : valuesOfSelect(select, options)
          : [unescape(content).replace(/^\n/, '')]
      return values.map((value): [string, string] => [name, value.replaceAll(/\r\n?|\n/g, '\r\n')])
    },
  )
}

function valuesOfInput(tag: string): string[] {
  const type = attribute(tag, 'type') ?? 'text'
  const value = attribute(tag, 'value') ?? ''
  if (type === 'checkbox') return /\schecked\b/.test(tag) ? [value] : []
  if (type === 'file') return []
  return [type === 'hidden' ? value : sanitized(type, value)]
}

/** The value of an input after the algorithm of its type in the standard of HTML. */
function sanitized(type: string, value: string): string {
  const line = value.replaceAll('\n', '')
  if (type === 'email' || type === 'url') return line.trim()
  if (type === 'number') return /^-?(\d+(\.\d+)?|\.\d+)(e[+-]?\d+)?$/i.test(value) ? value : ''
  const [date = '', time = ''] = type === 'time' ? ['2026-01-01', value] : value.split('T')
  if (type !== 'date' && type !== 'time' && type !== 'datetime-local') return line
  const isTime = type === 'date' ? time === '' : /^([01]\d|2[0-3])(:[0-5]\d){1,2}(\.\d{1,3})?$/.test(time)
  return /^\d{4,}-\d\d-\d\d$/.test(date) && isTime ? value : ''
}

function valuesOfSelect(tag: string, options: string): string[] {
  const all = [...options.matchAll(/<option([^>]*)>/g)].map(([, option = '']) => option)
  const chosen = all.filter((option) => /\sselected\b/.test(option))
  const sent = /\smultiple\b/.test(tag) ? chosen : [chosen.at(-1) ?? all[0] ?? '']
  return sent.map((option) => attribute(option, 'value') ?? '')
}

function attribute(tag: string, name: string): string | undefined {
  const value = new RegExp(`\\s${name}="([^"]*)"`).exec(tag)?.[1]
  return value === undefined ? undefined : unescape(value)
}

function unescape(text: string): string {
  const entities: Record<string, string> = { lt: '<', gt: '>', quot: '"', amp: '&', '#39': "'" }
  return text.replaceAll(/&(\w+|#\d+);/g, (whole, name: string) => entities[name] ?? whole)
}
