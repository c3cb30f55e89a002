/**
 * Traces and metrics by OpenTelemetry.
 *
 * @module resource-kit/telemetry
 */

export { telemetry } from './telemetry.js'
