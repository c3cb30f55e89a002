import 'reflect-metadata'

process.env['GO_ENV'] ??= 'test'
