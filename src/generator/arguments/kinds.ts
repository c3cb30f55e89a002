import type { AttributeKind } from '../../models/attributes/attributes.js'

/** The differences between the kinds of attributes. */
export interface Kind {
  /** The type of the property. */
  type: string
  /** The method of the form helper, and the options of its input. */
  input: 'text' | 'textarea' | 'number' | 'date' | 'time' | 'dateTime' | 'json' | 'checkbox' | 'select'
  options?: string
  /** The view helper that shows it; without one it is shown unchanged. */
  helper?: 'time' | 'display'
  /** Two sample values as JSON; those of a decimal and an enum depend on its digits and values. */
  samples: readonly [unknown, unknown]
  /** The operators of a generated filter. Without any, lists do not use the attribute. */
  operators: readonly string[]
  /** Whether its values have no size limit, so that it has no index. */
  isUnbounded?: true
  /** Whether `--search` can find words in it. */
  isSearchable?: true
  /** Whether an engine has no defaults of the kind, or has them in another format than the others. */
  lacksDefault?: true
}

/** The operators of numbers, and those of dates and times, whose end is exclusive. */
const range = ['gte', 'lte']
const period = ['gte', 'lt']

/** The kinds, as the generator writes them. */
export const SOURCES: Record<AttributeKind, Kind> = {
  string: {
    type: 'string',
    input: 'text',
    samples: ['First', 'Second'],
    operators: ['prefix'],
    isSearchable: true,
  },
  text: {
    type: 'string',
    input: 'textarea',
    options: 'rows: 10',
    samples: ['First line', 'Second line'],
    operators: ['contains'],
    isUnbounded: true,
    isSearchable: true,
    lacksDefault: true,
  },
  int: { type: 'number', input: 'number', samples: [1, 2], operators: range },
  bigint: {
    type: 'string',
    input: 'number',
    samples: ['9007199254740993', '9007199254740995'],
    operators: range,
  },
  float: { type: 'number', input: 'number', options: "step: 'any'", samples: [1.5, 2.5], operators: range },
  decimal: { type: 'string', input: 'number', samples: ['', ''], operators: range },
  bool: { type: 'boolean', input: 'checkbox', helper: 'display', samples: [true, false], operators: ['eq'] },
  date: {
    type: 'string',
    input: 'date',
    helper: 'time',
    samples: ['2026-01-02', '2026-03-04'],
    operators: period,
  },
  time: { type: 'string', input: 'time', samples: ['03:04:05', '06:07:08'], operators: period },
  datetime: {
    type: 'Date',
    input: 'dateTime',
    helper: 'time',
    samples: ['2026-01-02T03:04:05.000Z', '2026-03-04T05:06:07.000Z'],
    operators: period,
    lacksDefault: true,
  },
  uuid: {
    type: 'string',
    input: 'text',
    samples: ['0193b6a2-7c3e-7000-8000-00000000000a', '0193b6a2-7c3e-7000-8000-00000000000b'],
    operators: ['eq'],
  },
  json: {
    type: 'unknown',
    input: 'json',
    helper: 'display',
    samples: [{ a: [1] }, { b: [2] }],
    operators: [],
    isUnbounded: true,
    lacksDefault: true,
  },
  enum: { type: 'string', input: 'select', samples: ['', ''], operators: ['in'] },
}
