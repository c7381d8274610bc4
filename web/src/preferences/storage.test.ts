import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeEach, expect, test } from 'vitest'
import { inBrowser } from '../../test/browser-globals.ts'

/** Like `Storage`, whose items are own properties. */
const newStorage = () =>
  Object.create({
    getItem(name: string) {
      return (this as Record<string, string>)[name] ?? null
    },
    setItem(name: string, value: string) {
      ;(this as Record<string, string>)[name] = value
    },
    removeItem(name: string) {
      delete (this as Record<string, string>)[name]
    },
  }) as Record<string, string> & Storage

const [localStorage, sessionStorage] = [newStorage(), newStorage()]
afterAll(inBrowser({ localStorage, sessionStorage }))
const { setDraftOrganization, storeDraft } = await import('./drafts.ts')
const { claimStorage, forgetPerson, storeItem, storePreference, storeReturnPath } = await import('./storage.ts')

const names = () => [localStorage, sessionStorage].map((storage) => Object.keys(storage).sort())

beforeEach(() => {
  for (const storage of [localStorage, sessionStorage]) for (const name of Object.keys(storage)) delete storage[name]
  claimStorage('usr_ada')
  setDraftOrganization('org_1')
  for (const name of ['theme', 'language', 'single-sign-on', 'checklist.org_1']) storePreference(name, 'x')
  for (const scope of ['browser', 'tab'] as const) storeDraft('note', 'Secret', scope)
  storeReturnPath('/contacts/con_1')
  storeItem('rapport.begun-anew', '1', 'tab')
})

test('a log-out leaves the theme and the language in the browser, and nothing in the tab', () => {
  forgetPerson()
  expect(names()).toEqual([['rapport.language', 'rapport.theme'], []])
})

test('another person who logs in finds nothing of the previous one in the browser and in the tab', () => {
  claimStorage('usr_bob')
  expect(names()).toEqual([
    ['rapport.language', 'rapport.person', 'rapport.single-sign-on', 'rapport.theme'],
    ['rapport.person'],
  ])
})

test('the same person finds everything after logging in again', () => {
  const before = names()
  claimStorage('usr_ada')
  expect(names()).toEqual(before)
  expect(before[1]).toHaveLength(4)
})

test('every name starts with `rapport.`, by which it is deleted, and docs/security.md lists what is stored', () => {
  const source = fileURLToPath(new URL('..', import.meta.url))
  const stored = readdirSync(source, { encoding: 'utf8', recursive: true })
    .filter((path) => /(?<!\.test|\.d)\.tsx?$/.test(path))
    .flatMap((path) => {
      const text = readFileSync(`${source}/${path}`, 'utf8')
      const constants = new Map(
        [...text.matchAll(/^const (\w+) = '([^']+)'/gm)].map(([, name, value]) => [name, value]),
      )
      return [...text.matchAll(/(?<!function )\bstoreItem\(([^,]+),/g)].map(([, key = '']) => [path, key, constants])
    }) as [string, string, Map<string, string>][]
  const unprefixed = stored.filter(([, key, constants]) => {
    const value = constants.get(key) ?? key
    return !/^[`']?rapport\./.test(value) && !value.startsWith('keyOf(')
  })
  expect(stored.length).toBeGreaterThan(3)
  expect(unprefixed.map(([path, key]) => [path, key])).toEqual([])
  const document = readFileSync(fileURLToPath(new URL('../../../docs/security.md', import.meta.url)), 'utf8')
  expect(document.replaceAll(/\s+/g, ' ')).toContain(
    '`sessionStorage`, which ends with its tab, contains the id of the person, the drafts of forms and values, the page to come back to from single sign-on, and when the page last reloaded after an upgrade.',
  )
})
