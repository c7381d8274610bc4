import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { generatedFiles } from './generate.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

test.each(generatedFiles)('$file is what `npm run generate` writes', async ({ file, content }) => {
  expect(await readFile(join(root, file), 'utf8')).toBe(await content(root))
})
