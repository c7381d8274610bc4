import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { generatedFiles } from './generate.ts'

test.each(generatedFiles)('$file is what `npm run generate` writes', async ({ file, content }) => {
  const committed = await readFile(new URL(`../../${file}`, import.meta.url), 'utf8')
  expect(committed).toBe(await content())
})
