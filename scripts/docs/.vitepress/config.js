import { defineConfig } from 'vitepress'
import { diagram } from '../diagram.js'
import { sidebar } from '../pages.js'

export default defineConfig({
  title: 'resource-kit',
  description:
    'A full-stack TypeScript framework for applications that mostly list, show and edit the records of a database.',
  lang: 'en-US',
  base: process.env.DOCS_BASE ?? '/',
  srcDir: 'pages',
  outDir: 'site',
  cacheDir: '../../node_modules/.cache/vitepress',
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  metaChunk: true,
  markdown: {
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    anchor: { slugify: slugOf },
    config: (md) => {
      const fence = md.renderer.rules.fence
      md.renderer.rules.fence = (tokens, index, options, env, ...rest) => {
        const token = tokens[index]
        if (token.info === 'mermaid') return diagram(token.content)
        // To color the signatures of the reference takes longer than the rest of the build.
        if (env.relativePath.startsWith('reference/')) token.info = 'txt'
        return fence(tokens, index, options, env, ...rest)
      }
    },
  },
  vite: {
    // The index of the search is one large file, which only a search loads.
    build: { chunkSizeWarningLimit: 5000 },
  },
  themeConfig: {
    nav: [
      { text: 'Handbook', link: '/', activeMatch: '^/(?!overview|reference|changelog)' },
      { text: 'Reference', link: '/reference/', activeMatch: '^/reference/' },
      { text: 'Changelog', link: '/changelog' },
    ],
    sidebar: sidebar(),
    outline: { level: [2, 3], label: 'On this page' },
    search: {
      provider: 'local',
      options: {
        _render: withoutHighlighting,
        miniSearch: {
          searchOptions: {
            // A page of the handbook comes before the reference of the same name.
            boostDocument: (id) => (/\/(reference|changelog)/.test(id) ? 0.2 : 1),
          },
        },
      },
    },
  },
})

/** A page for the index of the search, which contains no colors. Highlighting takes longest. */
function withoutHighlighting(source, env, md) {
  const { highlight } = md.options
  md.options.highlight = null
  try {
    return md.render(source, env)
  } finally {
    md.options.highlight = highlight
  }
}

/** The anchor of a heading, as GitHub creates it. */
function slugOf(heading) {
  return heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\p{M} _-]/gu, '')
    .replaceAll(' ', '-')
}
