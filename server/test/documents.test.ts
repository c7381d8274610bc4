import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { expect, test } from 'vitest'
import { errorCodes } from '../src/platform/model/errors.ts'
import { createDatabase } from './postgres.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const documents = [
  ...readdirSync(root).filter((name) => name.endsWith('.md')),
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
]
const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const withoutCode = (text: string): string => text.replaceAll(/^```.*?^```/gms, '').replaceAll(/`[^`\n]*`/g, 'code')

test('every relative link in the documents leads to an existing file and heading', () => {
  const links = documents.flatMap((path) =>
    [...withoutCode(read(path)).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => ({ path, link })),
  )
  const relative = links.filter(({ link }) => !/^[a-z]+:/.test(link))
  expect(relative.length).toBeGreaterThan(100)
  expect(relative.filter(({ path, link }) => !resolves(path, link))).toEqual([])
})

function resolves(path: string, link: string): boolean {
  const [file = '', anchor] = link.split('#')
  const target = file === '' ? path : normalize(join(dirname(path), file))
  try {
    if (anchor === undefined) return readdirSync(join(root, dirname(target))).includes(target.split('/').pop() ?? '')
    return headingsOf(read(target)).includes(anchor)
  } catch {
    return false
  }
}

/** Anchors as GitHub generates them. */
const headingsOf = (text: string): string[] =>
  [...text.replaceAll(/^```.*?^```/gms, '').matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\d _-]/gu, '')
      .replaceAll(' ', '-'),
  )

/** What the guides call missing, and is. Remove what is built. */
const missing = ['campaigns are not sent yet', 'Rapport does not send campaigns yet', 'There are no users yet']

test('what the guides call missing is known to be missing', () => {
  const guides = documents.filter((path) => path.startsWith('docs/guides/'))
  const texts = guides.map((path) => read(path).replaceAll(/\s+/g, ' '))
  const claims = texts.flatMap((text) =>
    [...text.matchAll(/[^.]*\b(?:yet|so far|for now|not part of this version)\b/g)].map(([claim]) => claim.trim()),
  )
  expect(claims.filter((claim) => !missing.some((known) => claim.endsWith(known)))).toEqual([])
  expect(missing.filter((known) => !claims.some((claim) => claim.endsWith(known)))).toEqual([])
})

interface Reference {
  /** `child column parent`. */
  reference: string
  isNullable: boolean
}

test('the diagrams of the data model show every table and every foreign key of the database', async () => {
  const database = await createDatabase()
  const client = new pg.Client(database.connection)
  await client.connect()
  try {
    const { rows: keys } = await client.query<Reference>(`
      select format('%s %s %s', child.relname, field.attname, parent.relname) as reference,
        not field.attnotnull as "isNullable"
      from pg_constraint one
      join pg_class child on child.oid = one.conrelid
      join pg_class parent on parent.oid = one.confrelid
      cross join lateral unnest(one.conkey) with ordinality as part (number, ordinal)
      join pg_attribute field on field.attrelid = child.oid and field.attnum = part.number
      where one.contype = 'f' and field.attname <> 'organization_id'
      order by 1`)
    const { rows: tables } = await client.query<{ name: string }>(
      `select tablename as name from pg_tables where schemaname = 'public' order by 1`,
    )
    const text = read('docs/data-model.md')
    expect(diagramReferences(text)).toEqual(keys)
    const named = new Set([...text.matchAll(/\b[a-z]+(?:_[a-z]+)*\b/g)].map(([name]) => name))
    expect(tables.map(({ name }) => name).filter((name) => !named.has(name))).toEqual([])
  } finally {
    await client.end()
    await database.drop()
  }
})

/** Lines such as `notes }o--o| members : "author_id"`. */
const diagramReferences = (text: string): Reference[] =>
  [...text.matchAll(/^ +(\w+) [}|]o--(o\||\|\|) (\w+) : "(\w+)"$/gm)]
    .map(([, child, end, parent, column]) => ({ reference: `${child} ${column} ${parent}`, isNullable: end === 'o|' }))
    .sort((one, other) => (one.reference < other.reference ? -1 : 1))

test('every message quoted in the troubleshooting guide is in the source code, and every error code exists', () => {
  const guide = read('docs/guides/troubleshooting.md')
  const sources = sourcesIn('server/src').map(read).join('\n').replaceAll("\\'", "'")
  const quoted = [...guide.matchAll(/`([A-Z][^`]{12,})`/g)].map(([, text = '']) => text)
  expect(quoted.length).toBeGreaterThan(10)
  const parts = quoted.flatMap((text) => text.split(/…|: |4000/)).filter((part) => / .* /.test(part.trim()))
  expect(parts.filter((part) => !sources.includes(part.trim()))).toEqual([])
  const codes = [...guide.matchAll(/^\| \d{3} `(\w+)`/gm)].map(([, code = '']) => code)
  expect(codes.filter((code) => !(code in errorCodes))).toEqual([])
  const findings = [...(guide.split('## Findings')[1] ?? '').matchAll(/^\| (`.+?`) +\|/gm)]
  const names = findings.flatMap(([, cell = '']) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name))
  expect(names.length).toBeGreaterThan(15)
  expect(names.filter((name) => !sources.includes(`'${name}'`))).toEqual([])
})

const sourcesIn = (folder: string): string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
    .map((name) => `${folder}/${name}`)
