import { relative } from 'node:path'
import Mocha from 'mocha'

/** The number of entries in each list. */
const COUNT = 20

interface Measured {
  /** Milliseconds. */
  duration: number
  title: string
}

/** Mocha's dots and failures, then the slowest specs, hooks and files, so that everyone notices a slower suite. */
export default class Reporter extends Mocha.reporters.Dot {
  private readonly measured: Measured[] = []
  private readonly files = new Map<string, Measured>()

  constructor(runner: Mocha.Runner, options: Mocha.MochaOptions) {
    super(runner, options)
    const measure = (runnable: Mocha.Runnable): void => {
      const { file, duration = 0 } = runnable
      const path = file ? relative('dist', file).replace(/\.js$/, '.ts') : 'hooks of all files'
      this.measured.push({ duration, title: `${path}: ${runnable.fullTitle()}` })
      const ofFile = this.files.get(path) ?? { duration: 0, title: path }
      this.files.set(path, ofFile)
      ofFile.duration += duration
    }
    runner.on('test end', measure).on('hook end', measure)
  }

  override epilogue(): void {
    super.epilogue()
    const total = this.measured.reduce((sum, { duration }) => sum + duration, 0)
    print(`slowest of ${seconds(total)} in all specs and hooks`, this.measured)
    print('slowest files', [...this.files.values()])
  }
}

function print(heading: string, measured: Measured[]): void {
  const slowest = measured.toSorted((one, other) => other.duration - one.duration).slice(0, COUNT)
  Mocha.reporters.Base.consoleLog(`  The ${slowest.length} ${heading}:`)
  for (const { duration, title } of slowest)
    Mocha.reporters.Base.consoleLog(`  ${seconds(duration).padStart(8)}  ${title}`)
}

function seconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(1)} s`
}
