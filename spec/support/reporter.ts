import { relative } from 'node:path'
import Mocha from 'mocha'

/** The number of slowest specs in the list. */
const COUNT = 20

/** Mocha's dots and failures, then the slowest specs and hooks, so that everyone notices a slower suite. */
export default class Reporter extends Mocha.reporters.Dot {
  private readonly measured: { duration: number; title: string }[] = []

  constructor(runner: Mocha.Runner, options: Mocha.MochaOptions) {
    super(runner, options)
    const measure = (runnable: Mocha.Runnable): unknown =>
      this.measured.push({ duration: runnable.duration ?? 0, title: titleOf(runnable) })
    runner.on('test end', measure).on('hook end', measure)
  }

  override epilogue(): void {
    super.epilogue()
    const slowest = this.measured.toSorted((one, other) => other.duration - one.duration).slice(0, COUNT)
    const total = this.measured.reduce((sum, { duration }) => sum + duration, 0)
    Mocha.reporters.Base.consoleLog(
      `  The ${slowest.length} slowest of ${seconds(total)} in all specs and hooks:`,
    )
    for (const { duration, title } of slowest)
      Mocha.reporters.Base.consoleLog(`  ${seconds(duration).padStart(8)}  ${title}`)
  }
}

function titleOf(runnable: Mocha.Runnable): string {
  const file = runnable.file ? `${relative('dist', runnable.file).replace(/\.js$/, '.ts')}: ` : ''
  return file + runnable.fullTitle()
}

function seconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(1)} s`
}
