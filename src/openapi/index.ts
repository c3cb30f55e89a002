/**
 * OpenAPI documents of an application's routes, and the page that shows one.
 *
 * @module resource-kit/openapi
 */

import type { Extension } from '../index.js'
import { DeclaredDocument, type DocumentOptions } from './declared-document.js'

export type { DocumentOptions }

/**
 * Serves an OpenAPI document that describes all routes of the scope that it extends (the application, a group
 * or a host), above and below it, except for those of an inner scope with its own document. Like any route,
 * it runs the middleware above it.
 *
 * @example app.extend(openapi('/openapi.json', { title: 'Blog', version: '1', page: '/docs' }))
 */
export function openapi(path: string, options: DocumentOptions): Extension {
  return new DeclaredDocument(path, options)
}
