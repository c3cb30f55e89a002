const date = String.raw`\d{4,}-\d\d-\d\d`
const time = String.raw`([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,3})?)?`

/** The values that an input can hold, by its type. Browsers change or remove other values. */
const VALUES: Record<string, RegExp> = {
  text: /^[^\r\n]*$/,
  search: /^[^\r\n]*$/,
  tel: /^[^\r\n]*$/,
  email: /^(\S([^\r\n]*\S)?)?$/,
  url: /^(\S([^\r\n]*\S)?)?$/,
  number: /^(-?(\d+(\.\d+)?|\.\d+)(e[+-]?\d+)?)?$/i,
  date: new RegExp(`^(${date})?$`),
  time: new RegExp(`^(${time})?$`),
  'datetime-local': new RegExp(`^(${date}T${time})?$`),
  month: /^(\d{4,}-\d\d)?$/,
  week: /^(\d{4,}-W\d\d)?$/,
}

/** Whether an input of a type sends a value as it is, if nobody changes it. */
export function canHold(type: string, value: string): boolean {
  return VALUES[type]?.test(value) ?? true
}
