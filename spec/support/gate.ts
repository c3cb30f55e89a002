/** A gate that blocks requests, so that a spec decides in which order they continue. */
export class Gate {
  private arrive = () => {}
  private open = () => {}
  readonly reached = new Promise<void>((resolve) => (this.arrive = resolve))
  private readonly opened = new Promise<void>((resolve) => (this.open = resolve))

  pass(): void {
    this.open()
  }

  async wait(): Promise<void> {
    this.arrive()
    await this.opened
  }
}
