import { expect } from 'chai'
import { namesOf } from '../../src/generator/arguments/names.js'
import { nestingOf } from '../../src/generator/nesting.js'

const project = namesOf('project')
const issue = namesOf('issue', project)
const comment = namesOf('comment', issue)
const reply = namesOf('reply', comment)

/** The source of each method that finds a record: of the parents, and then of the item. */
function findersOf(names: typeof project, isGuarded: boolean): string[] {
  const { parents, item } = nestingOf(names, isGuarded)
  const all = [...parents, { ...names, finder: item }]
  return all.map(({ model, finder }) => `find${model}(${finder.parameters}) { ${finder.body.join('; ')} }`)
}

/** The calls before an item is found in a handler, and that which finds it. */
function callsOf(names: typeof project, isGuarded: boolean): string[] {
  const { before, item } = nestingOf(names, isGuarded)
  const all = [...before, { ...names, finder: item }]
  return all.map(({ one, model, finder }) => `${one} = find${model}(${finder.arguments})`)
}

const byId = 'findProject(ctx: Context) { return ctx.find(Project, ctx.params.project_id) }'
const inPath =
  'findIssue(ctx: Context) { const { project_id, issue_id } = ctx.params; ' +
  'return ctx.findOneBy(Issue, { id: issue_id, project_id }) }'
const ofProject =
  'findIssue(ctx: Context, project: Project) ' +
  '{ return ctx.findOneBy(Issue, { id: ctx.params.issue_id, project_id: project.id }) }'
const ofIssue =
  'findComment(ctx: Context, issue: Issue) ' +
  '{ return ctx.findOneBy(Comment, { id: ctx.params.comment_id, issue_id: issue.id }) }'
const ofComment =
  'findReply(ctx: Context, comment: Comment) ' +
  '{ return ctx.findOneBy(Reply, { id: ctx.params.reply_id, comment_id: comment.id }) }'

const theProject = 'project = findProject(ctx)'
const theIssue = 'issue = findIssue(ctx)'
const theIssueOfIt = 'issue = findIssue(ctx, project)'
const theComment = 'comment = findComment(ctx, issue)'
const theReply = 'reply = findReply(ctx, comment)'

describe('nestingOf(names, isGuarded)', () => {
  it('finds the record of a resource without a parent by its id', () => {
    for (const isGuarded of [false, true]) {
      expect(findersOf(project, isGuarded)).to.deep.equal([byId])
      expect(callsOf(project, isGuarded)).to.deep.equal([theProject])
    }
  })

  describe('if the outermost parent has no policy', () => {
    const rows = [
      { names: issue, finders: [byId, inPath], calls: [theIssue] },
      { names: comment, finders: [inPath, ofIssue], calls: [theIssue, theComment] },
      { names: reply, finders: [inPath, ofIssue, ofComment], calls: [theIssue, theComment, theReply] },
    ]
    for (const [index, { names, finders, calls }] of rows.entries()) {
      it(`compares the id of each parent with that in the path of ${index + 1} levels`, () => {
        expect(findersOf(names, false)).to.deep.equal(finders)
        expect(callsOf(names, false)).to.deep.equal(calls)
      })
    }
  })

  describe('if the outermost parent has a policy', () => {
    const rows = [
      { names: issue, finders: [byId, ofProject], calls: [] },
      { names: comment, finders: [byId, ofProject, ofIssue], calls: [theComment] },
      { names: reply, finders: [byId, ofProject, ofIssue, ofComment], calls: [theComment, theReply] },
    ]
    for (const [index, { names, finders, calls }] of rows.entries()) {
      it(`finds it before each item below ${index + 1} levels`, () => {
        expect(findersOf(names, true)).to.deep.equal(finders)
        expect(callsOf(names, true)).to.deep.equal([theProject, theIssueOfIt, ...calls])
      })
    }
  })

  it('names the parents in the conditions and paths of each depth', () => {
    const rows = [project, issue, comment, reply].map((names) => {
      const { where, parentRecords, records, collection } = nestingOf(names, false)
      return [where, parentRecords, records, collection.handler, collection.page]
    })
    expect(rows).to.deep.equal([
      ['{}', '', 'project', '', ''],
      [
        '{ project_id: project.id }',
        'project',
        'issue',
        '{ project_id: issue.project_id }',
        'issue.project_id',
      ],
      ['{ issue_id: issue.id }', 'issue', 'issue, comment', 'issue', 'issue'],
      [
        '{ comment_id: comment.id }',
        'issue, comment',
        'issue, comment, reply',
        'issue, comment',
        'issue, comment',
      ],
    ])
  })
})
