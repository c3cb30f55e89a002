import {
  Body,
  Controller,
  Delete,
  Get,
  Headers,
  HttpCode,
  NotFoundException,
  Param,
  ParseUUIDPipe,
  Post as HttpPost,
  Put,
  Query,
  Res,
} from '@nestjs/common'
import { InjectRepository } from '@nestjs/typeorm'
import type { FastifyReply } from 'fastify'
import type { Repository } from 'typeorm'
import { Post, PostBody } from './post.js'

/** The posts, as the documentation of NestJS writes a controller with a repository of TypeORM. */
@Controller('posts')
export class PostsController {
  constructor(@InjectRepository(Post) private readonly posts: Repository<Post>) {}

  @Get()
  async list(
    @Query('page') pageText: string | undefined,
    @Headers('accept') accept: string | undefined,
    @Res() reply: FastifyReply,
  ): Promise<unknown> {
    const page = Number(pageText ?? 1) || 1
    const [posts, total] = await this.posts.findAndCount({
      order: { id: 'DESC' },
      skip: (page - 1) * 20,
      take: 20,
    })
    void reply.header('X-Total-Count', String(total))
    if (!accept?.includes('html')) return reply.send(posts)
    const links = (to: number): string => `?page=${to}`
    return reply.view('index.pug', {
      posts,
      page,
      pages: Math.ceil(total / 20),
      links,
      token: '',
      flash: [],
    })
  }

  @Get(':id')
  show(@Param('id', ParseUUIDPipe) id: string): Promise<Post> {
    return this.find(id)
  }

  @HttpPost()
  create(@Body() body: PostBody): Promise<Post> {
    return this.posts.save(this.posts.create(body))
  }

  @Put(':id')
  async update(@Param('id', ParseUUIDPipe) id: string, @Body() body: PostBody): Promise<Post> {
    return this.posts.save(Object.assign(await this.find(id), body))
  }

  @Delete(':id')
  @HttpCode(200)
  async destroy(@Param('id', ParseUUIDPipe) id: string): Promise<Post> {
    const post = await this.find(id)
    await this.posts.remove(post)
    return post
  }

  private async find(id: string): Promise<Post> {
    const post = await this.posts.findOneBy({ id })
    if (!post) throw new NotFoundException()
    return post
  }
}
