import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { contractFingerprint } from '../src/platform/http/protocol/version.ts'
import { chromium } from './chromium.ts'
import { fingerprintOf } from './contract-fingerprint.ts'

const project = fileURLToPath(new URL('../../', import.meta.url))
const guide = readFileSync(join(project, 'docs/guides/add-a-resource.md'), 'utf8')

/** A code block of the guide: commands, a file, or a change to a file. */
interface Block {
  language: string
  file: string | undefined
  text: string
}
const blocks = [...guide.matchAll(/^```(\w+)(?: (\S+))?\n(.*?)^```$/gms)].map(
  ([, language = '', file, text = '']): Block => ({ language, file, text }),
)

let copy: string
beforeAll(() => {
  copy = mkdtempSync(join(tmpdir(), 'rapport-guide-'))
  const excluded = new Set(['node_modules', '.git', 'dist', 'coverage'])
  for (const name of readdirSync(project).filter((one) => !excluded.has(one)))
    cpSync(join(project, name), join(copy, name), {
      recursive: true,
      filter: (from) => !/\/(?:dist|node_modules)$/.test(from),
    })
  symlinkSync(join(project, 'node_modules'), join(copy, 'node_modules'))
})
afterAll(() => rmSync(copy, { recursive: true, force: true }))

const run = async (program: string, ...parameters: string[]): Promise<string> => {
  const environment = { ...process.env, TEST_ENGINE: 'embedded', SUITE: '', NODE_ENV: undefined, VITEST: undefined }
  const { stdout, stderr } = await promisify(execFile)(program, parameters, { cwd: copy, env: environment })
  return stdout + stderr
}

/** A part of `npm run check`, which takes a minute: the types. A test below compares the migrations with the code. */
async function check(): Promise<void> {
  const types = { extends: './tsconfig.json', include: [], files: ['server/src/crm/projects/routes.ts'] }
  writeFileSync(join(copy, 'tsconfig.guide.json'), JSON.stringify(types))
  await run('node', 'node_modules/typescript-native/bin/tsc', '-p', 'tsconfig.guide.json')
}

async function apply({ language, file, text }: Block): Promise<void> {
  if (language === 'sh') {
    for (const line of text.trim().split('\n')) {
      const [program = '', ...args] = line.split(' ')
      if (line === 'npm run check') await check()
      else printed.push(await run(program, ...args))
    }
  } else if (language === 'diff') change(join(copy, file ?? ''), text)
  else {
    mkdirSync(dirname(join(copy, file ?? '')), { recursive: true })
    writeFileSync(join(copy, file ?? ''), text)
  }
}

/** Applies a diff. What it keeps or removes must occur exactly once in the file. */
function change(file: string, difference: string): void {
  const lines = difference.trimEnd().split('\n')
  const without = (sign: string) => lines.filter((line) => !line.startsWith(sign)).map((line) => `${line.slice(1)}\n`)
  const [before, after] = [without('+'), without('-')]
  const parts = readFileSync(file, 'utf8').split(before.join(''))
  expect([file, before, parts.length]).toEqual([file, before, 2])
  writeFileSync(file, parts.join(after.join('')))
}

const printed: string[] = []

const readDocument = () => JSON.parse(readFileSync(join(copy, 'openapi.json'), 'utf8'))

/** What the guide says in words, because each change of the contract has another fingerprint. */
function acceptContract(): void {
  const file = join(copy, 'server/src/platform/http/protocol/version.ts')
  const changed = readFileSync(file, 'utf8').replace(contractFingerprint, fingerprintOf(readDocument()))
  expect(changed).not.toContain(contractFingerprint)
  writeFileSync(file, changed)
}

/** Tests of the whole product that a new resource breaks if the guide lacks a step: those that take seconds. */
const brokenByOmissions = [
  ...['places', 'contract', 'documents', 'search-guide', 'openapi-for-tools', 'migration-inspection'].map(
    (name) => `server/test/${name}.test.ts`,
  ),
  'server/src/platform/operations/schema/schema.test.ts',
  'web/src/messages/messages.test.ts',
  'lab/fuzz/requests.test.ts',
]

/** Opens the pages of the new resource, which nobody wrote: list, form and record. */
const browserTest = `
import { afterAll, beforeAll, expect, test } from 'vitest'
import { launchChromium } from './chromium.ts'
import { startTestService, type TestService } from './service.ts'

let service: TestService
beforeAll(async () => (service = await startTestService()))
afterAll(() => service.close())

test('a resource appears in the application', async () => {
  const { refreshToken } = await service.newOrganization()
  const browser = await launchChromium()
  const context = await browser.newContext()
  await context.addCookies([{ name: 'rapport', value: refreshToken, url: service.url }])
  const page = await context.newPage()
  await page.goto(service.url)
  await page.getByRole('navigation').getByRole('link', { name: 'Projects' }).click()
  await page.getByText('No projects yet').waitFor()
  await page.getByRole('button', { name: 'New project' }).first().click()
  await page.getByRole('textbox', { name: 'Name' }).fill('Analytical engine')
  await page.getByRole('dialog').getByRole('button', { name: 'New project' }).click()
  await page.getByRole('heading', { name: 'Analytical engine', level: 1 }).waitFor()
  expect(await page.getByRole('complementary', { name: 'Properties' }).innerText()).toContain('Planned')
  await page.getByRole('navigation').getByRole('link', { name: 'Projects' }).click()
  await page.getByRole('grid', { name: 'Projects' }).getByRole('link', { name: 'Analytical engine' }).waitFor()
  await browser.close()
})
`

test('the files, commands and tests in the guide for a new resource work as written', async () => {
  expect(blocks.map(({ language }) => language)).toEqual(expect.arrayContaining(['ts', 'diff', 'sh']))
  expect(blocks.filter(({ language }) => !['ts', 'diff', 'sh'].includes(language))).toEqual([])
  const before = readdirSync(join(copy, 'server/schema'))
  for (const block of blocks) await apply(block)

  const newMigrations = readdirSync(join(copy, 'server/schema')).filter((name) => !before.includes(name))
  expect(newMigrations.map((name) => name.slice(5))).toEqual([
    'projects.sql',
    'project_location.sql',
    'project_location_indexes.sql',
  ])
  const document = readDocument()
  expect(Object.keys(document.paths).filter((path) => path.includes('project'))).toEqual([
    '/v5/projects',
    '/v5/projects/search',
    '/v5/projects/search/count',
    '/v5/projects/count',
    '/v5/projects/{projectId}',
    '/v5/projects/{projectId}/restore',
  ])
  expect(Object.keys(document.components.schemas.Project.properties)).toContain('location')
  const page = readFileSync(join(copy, 'docs/routes.md'), 'utf8')
  expect(page).toMatch(/^PATCH +\/v5\/projects\/\{projectId\} +project:update:write$/m)
  const tests = printed.find((text) => text.includes('Test Files'))
  expect(tests).toMatch(/Test Files .*3 passed/)
  expect(Number(/Tests .*?(\d+) passed/.exec(tests ?? '')?.[1])).toBeGreaterThan(20)
}, 240_000)

test('the tests of the product that a new resource can break pass after the guide', async () => {
  acceptContract()
  const files = [...brokenByOmissions]
  if (chromium) {
    files.push('server/test/projects-page.test.ts')
    writeFileSync(join(copy, 'server/test/projects-page.test.ts'), browserTest)
  }
  await run('node', 'scripts/build.mjs')
  // One process for all of them, with few workers, because each loads the whole product.
  const tests = await run('npx', 'vitest', 'run', '--maxWorkers=2', ...files)
  expect(tests).toMatch(new RegExp(`Test Files .*${files.length} passed`))
}, 240_000)
