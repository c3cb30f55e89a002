import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'

/** Writes locale files into a folder: `{ 'posts.de.yaml': { 'post.title': 'Titel' } }`, or their text. */
export async function writeLocales(
  folder: string,
  files: Record<string, string | Record<string, string>>,
): Promise<string> {
  for (const [name, content] of Object.entries(files)) {
    const file = join(folder, name)
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, typeof content === 'string' ? content : list(content))
  }
  return folder
}

function list(texts: Record<string, string>): string {
  return Object.entries(texts)
    .map(([id, text]) => `- id: ${id}\n  translation: ${JSON.stringify(text)}\n`)
    .join('')
}
