// Starts Sentry as docs/telemetry.md does.
import * as Sentry from '@sentry/node'

Sentry.init({
  dsn: process.env.SENTRY_DSN,
  tracesSampleRate: 1,
  enableOpenTelemetrySetup: true,
  dataCollection: { cookies: false, httpHeaders: false, httpBodies: [], urlQueryParams: false },
})
