import { UnsafeAction } from '../../errors.js'
import { isOfThisSite } from '../../http/security/own-site.js'

/**
 * Returns the path that a form is sent to. A form has a CSRF token, which no other site may receive.
 *
 * @throws UnsafeAction when it is a URL of another site, or one with a script
 */
export function actionPath(path: string): string {
  if (isOfThisSite(path)) return path
  throw new UnsafeAction(path)
}
