import { injectable } from 'tsyringe'

/** Tells the team what happens, in a chat. */
@injectable()
export class Notifier {
  /** Sends a text to the webhook of the chat. Without `CHAT_URL`, it does nothing. */
  async send(text: string): Promise<void> {
    const url = process.env['CHAT_URL']
    if (url) await fetch(url, { method: 'POST', body: JSON.stringify({ text }) })
  }
}
