/**
 * Mails that are sent after the commit.
 *
 * @module resource-kit/mail
 */

export { absoluteUrl, mailer, sendMail, type Mail, type MailerOptions } from './mailer.js'
export { mailInbox, mails, type Inbox, type MailMessage } from './inbox.js'
