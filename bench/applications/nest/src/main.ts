import 'reflect-metadata'
import { join } from 'node:path'
import fastifyView from '@fastify/view'
import { Module, ValidationPipe } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify'
import { TypeOrmModule } from '@nestjs/typeorm'
import pug from 'pug'
import { Post } from './post.js'
import { PostsController } from './posts-controller.js'

const url = process.env['DATABASE_URL'] ?? ''

/** NestJS on Fastify, with TypeORM and the validation pipe, and otherwise its defaults. */
@Module({
  imports: [
    TypeOrmModule.forRoot(
      url.startsWith('postgres')
        ? // resource-kit has ten connections, too.
          { type: 'postgres', url, poolSize: 10, entities: [Post] }
        : {
            type: 'better-sqlite3',
            database: url.replace(/^sqlite:/, ''),
            entities: [Post],
            // The settings that resource-kit gives to SQLite. Without them, each write waits for the disk.
            enableWAL: true,
            prepareDatabase: (database) => {
              database.pragma('synchronous = NORMAL')
              database.pragma('foreign_keys = ON')
            },
          },
    ),
    TypeOrmModule.forFeature([Post]),
  ],
  controllers: [PostsController],
})
class ApplicationModule {}

const app = await NestFactory.create<NestFastifyApplication>(ApplicationModule, new FastifyAdapter(), {
  logger: ['error', 'warn'],
})
app.useGlobalPipes(new ValidationPipe({ whitelist: true }))
await app.register(fastifyView, {
  engine: { pug },
  root: join(import.meta.dirname, '../../peer/templates'),
  production: true,
})
await app.listen(Number(process.env['PORT']), '127.0.0.1')
