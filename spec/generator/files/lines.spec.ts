import { expect } from 'chai'
import { breakLongLines } from '../../../src/generator/files/lines.js'
import { unformatted } from '../../support/formatted.js'

const model = 'ExceptionallyLongDepartmentRequisition'
const variable = 'exceptionallyLongDepartmentRequisition'
const attribute = 'estimated_date_of_delivery_to_the_house'

/** Lines that generated specs have, with names of almost the greatest length. */
const LINES = [
  `    const { id: estimatedDateOfDeliveryToTheMainWarehouseId } = await factory.make(${model})`,
  `    const { id: warehouseId } = await factory.make(${model}, { user_id: owner.id, ${attribute}: null })`,
  '    describeResource(client, {',
  `      make: (given: Partial<${model}Line>) => factory.make(${model}Line, given),`,
  `      within: () => ({ ${attribute}_id: ${variable}.id, ${attribute}_at_night_id: owner.id }),`,
  `      listed: (${variable}OfTheOtherHouse, newer) => [${variable}OfTheOtherHouse, newer],`,
  `      path: () => \`/posts/\${${variable}.post_id}/comments/\${${variable}.id}/replies/of/\${${variable}.id}\`,`,
  '    })',
  `    new URLSearchParams({`,
  `      '${attribute}.gte': ${variable}.${attribute}.toISOString(),`,
  `      '${attribute}.gte': ${variable}.${attribute}?.toISOString() ?? '',`,
  `      '${attribute}.gte': String(${variable}.${attribute}),`,
  `      ${attribute}: ${variable}.${attribute}_at_night,`,
  `    })`,
  `    expect(errors.map(({ property }) => property)).to.include('${attribute}_every_night')`,
  `    await ctx.choices(${model}, ...(${variable}.lines ?? []).map(({ ${attribute}_id }) => ${attribute}_id))`,
]

describe('breakLongLines', () => {
  it('breaks lines with long names as oxfmt does', async () => {
    const text = breakLongLines(
      ["describe('', () => {", '  before(async () => {', ...LINES, '  })', '})', ''].join('\n'),
    )
    expect(text.split('\n').filter((line) => line.length > 110 && !line.includes('`/posts'))).to.deep.equal(
      [],
    )
    expect(await unformatted({ 'long.ts': text })).to.deep.equal([])
  })
})
