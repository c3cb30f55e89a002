import { container } from 'tsyringe'

// Register the dependencies of resources and middleware classes. A class needs no registration, but a value does:
//
// container.register('mailUrl', { useValue: process.env.MAIL_URL })

/** Creates the resources and middleware classes of the application, with their dependencies. */
export { container }
