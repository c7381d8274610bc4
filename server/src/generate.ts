import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { headings, routes } from './app.ts'
import { settings } from './config.ts'
import { describeErrors } from './platform/http/errors-reference.ts'
import { openapi } from './platform/http/openapi.ts'
import type { Setting } from './settings.ts'

/** A file of the repository that follows from the code. */
interface GeneratedFile {
  file: string
  content(): string | Promise<string>
}

export const generatedFiles: readonly GeneratedFile[] = [
  { file: 'docs/configuration.md', content: describeSettings },
  { file: 'docs/errors.md', content: describeErrors },
  { file: 'openapi.json', content: () => `${JSON.stringify(openapi(routes, headings), null, 2)}\n` },
]

/** Writes the files that differ, under the repository's root. Returns what it did, a line each. */
export async function generate(root: string): Promise<string[]> {
  return Promise.all(
    generatedFiles.map(async ({ file, content }) => {
      const path = join(root, file)
      const text = await content()
      if ((await readFile(path, 'utf8').catch(() => undefined)) === text) return `${file} is up to date.`
      await mkdir(dirname(path), { recursive: true })
      await writeFile(path, text)
      return `${file} was written.`
    }),
  )
}

function describeSettings(): string {
  const declared: Setting<unknown>[] = Object.values(settings)
  return [
    '# Configuration',
    '',
    'Generated from `server/src/config.ts` by `npm run generate`; do not edit.',
    '',
    'Every setting is an environment variable. None is needed: with none at all the service listens on this machine and',
    'keeps its own database. An empty value counts as unset. A `.env` file is not read; to use one, pass it to Node',
    '(`node --env-file=.env bin/rapport.js start`). A mistake ends the start with exit code 3 and a list of all mistakes,',
    'a misspelt name among them.',
    '',
    '| Setting | Default | |',
    '|---|---|---|',
    ...declared.map(
      (one) => `| [\`${one.name}\`](#${one.name.toLowerCase()}) | ${shown(one.default)} | ${firstSentence(one.does)} |`,
    ),
    '',
    ...declared.flatMap((one) => [
      `## ${one.name}`,
      '',
      one.does,
      '',
      `Default: ${shown(one.default)}. Example: ${one.example.includes('`') ? one.example : `\`${one.name}=${one.example}\``}.`,
      '',
    ]),
  ]
    .join('\n')
    .trimEnd()
    .concat('\n')
}

const shown = (text: string | undefined): string =>
  text === undefined ? 'unset' : text === '' ? 'empty' : `\`${text}\``

const firstSentence = (text: string): string => /^.*?[.:](?=\s|$)/.exec(text)?.[0].replace(/:$/, '.') ?? text
