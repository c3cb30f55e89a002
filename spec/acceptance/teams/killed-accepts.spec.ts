import { expect } from 'chai'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { Company } from '../../support/applications/company.js'
import { Invitation, Membership } from '../../support/applications/teams.js'

const SCRIPT = fileURLToPath(new URL('../../support/processes/accept-invitations.js', import.meta.url))

describe('Invitations that a process accepts', () => {
  it('are as many as the memberships, when it is killed', async () => {
    const company = await Company.open()
    const { database, owner } = company
    const count = 24
    const pairs: string[] = []
    for (let index = 0; index < count; index++) {
      const { email, bearer } = await company.makeUser(`invited-${index}`)
      await company.invite(owner, email, 'clerk')
      pairs.push(`${company.token} ${bearer}`)
    }
    const { manager, url } = database
    const child = spawn(process.execPath, [SCRIPT, url, ...pairs], { stdio: ['ignore', 'pipe', 'inherit'] })
    const ended = once(child, 'exit')
    let responses = 0
    for await (const line of createInterface(child.stdout)) {
      expect(line).to.equal('200')
      responses += 1
      // Others are in the middle of their transactions.
      if (responses === 5) child.kill('SIGKILL')
    }
    // On a slow machine, it may have accepted all of them before the signal.
    await ended
    const open = await manager.countBy(Invitation, {})
    const members = await manager.countBy(Membership, { role: 'clerk' })
    expect(count - open).to.equal(members)
    expect(members).to.be.within(5, count)
    await company.close()
  })
})
