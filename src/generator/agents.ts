import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { textOf } from './application.js'
import type { ResourceArguments } from './arguments/command-line.js'
import type { Names } from './arguments/names.js'
import type { FileAction } from './files/files.js'
import { insertion } from './files/insertion.js'

/** The paragraphs of AGENTS.md about the capabilities of an application, below "What holds everywhere". */
export const paragraphs = {
  accounts: ({ plural }: Names) => [
    '- **Accounts.** `ctx.user` is who has signed in (`src/authentication.ts`). `src/app.ts` registers what is private below',
    `  \`requireUser()\`. Specs sign in with the helpers of \`spec/support/${plural}.ts\`.`,
  ],
  team: ({ singular, plural, words }: Names) => [
    `- **${words.Many}.** A record is in ${words.aOne}, and the member's role decides what its policy allows (\`src/${plural}.ts\`).`,
    `  Generate further resources with \`--owner ${singular}\`, and keep \`spec/isolation.spec.ts\` green.`,
  ],
  jobs: [
    '- **Jobs.** Slow work is a job: `npx kit generate job send_digest user_id:uuid`, then `ctx.enqueue`. Pass ids and not',
    '  records. A job can run twice, so its second run must do no harm.',
  ],
  files: [
    '- **Files.** An attribute with `@HasFile` or `@HasFiles` is a stored file (`src/files.ts`). A handler of its resource',
    '  serves it, behind the policy: never copy it into `public/`.',
  ],
  trash: [
    '- **Trash.** `destroy` moves a record with `deleted_at` to the trash. Queries of models leave it out, and SQL that you',
    '  write yourself must do so, too.',
  ],
  history: [
    '- **History.** `ctx.save` and `ctx.destroy` record who changed a model with `@History`. A statement that would change its',
    '  table past them is refused. Call `withoutHistory` for it, with the reason.',
  ],
  lines: [
    '- **Lines.** Records with `@Nested` are written and deleted with the record that they belong to: one form, one body, one',
    '  `ctx.save`. The list of a body is the whole list, so a line that it leaves out is deleted.',
  ],
  many: [
    '- **Many records.** CSV files, imports and bulk actions obey the same `fields`, rules and policy as a form. Change these',
    '  in the model and in the policy, and not in the handlers for many records.',
  ],
}

/** The step that adds a paragraph to AGENTS.md, if the application has that file. */
export function agentsStep(folder: string, lines: readonly string[]): FileAction[] {
  if (textOf(folder, 'AGENTS.md') === undefined) return []
  const [, title = ''] = /^- \*\*(.+?)\.\*\*/.exec(lines[0] ?? '') ?? []
  return [insertion('AGENTS.md', `the paragraph "${title}"`, [{ lines, place: 'before what never to do' }])]
}

/**
 * The steps of a resource or a team, which add what AGENTS.md says about its options. They stay until the last of such a kind is
 * destroyed.
 *
 * @param own the file in `src` that has its command
 */
export function agentsSteps(folder: string, own: string, options: ResourceArguments): FileAction[] {
  const { trash, history, nested = [], csv, import: imports, bulk } = options
  const others = recordedIn(folder, own)
  const added: [isWanted: unknown, flag: RegExp, paragraph: readonly string[]][] = [
    [trash, / --trash\b/, paragraphs.trash],
    [history, / --history\b/, paragraphs.history],
    [nested.length > 0, / --nested\b/, paragraphs.lines],
    [csv || imports || bulk, / --(csv|import|bulk)\b/, paragraphs.many],
  ]
  return added.flatMap(([isWanted, flag, paragraph]) =>
    isWanted && !others.some((command) => flag.test(command)) ? agentsStep(folder, paragraph) : [],
  )
}

/** The commands that are recorded in src/actions and in the file of the team, except in one file. */
function recordedIn(folder: string, except: string): string[] {
  const source = join(folder, 'src')
  if (!existsSync(source)) return []
  return readdirSync(source, { recursive: true, encoding: 'utf8' })
    .map((name) => name.replaceAll('\\', '/'))
    .filter((name) => /^(actions\/.*|[^/]*)\.ts$/.test(name) && name !== except)
    .flatMap((name) => /^\/\/ kit generate .*$/m.exec(readFileSync(join(source, name), 'utf8')) ?? [])
}
