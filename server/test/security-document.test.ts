import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))
const path = 'docs/security.md'
const text = readFileSync(join(root, path), 'utf8')

/** OWASP ASVS 5.0.0: the sections with the level of each requirement, in order. */
const levels = `
  1.1:22 1.2:1111122223 1.3:112222222223 1.4:222 1.5:123 2.1:122 2.2:112 2.3:12223 2.4:23 3.1:3 3.2:113
  3.3:12223 3.4:11222233 3.5:11122333 3.6:3 3.7:22333 4.1:12233 4.2:23333 4.3:22 4.4:1222 5.1:2 5.2:112333
  5.3:113 5.4:222 6.1:122 6.2:111111112222 6.3:11223333 6.4:112233 6.5:22222333 6.6:2223 6.7:33 6.8:2222 7.1:222
  7.2:1111 7.3:22 7.4:11222 7.5:223 7.6:22 8.1:1233 8.2:1123 8.3:133 8.4:23 9.1:111 9.2:1222 10.1:22 10.2:223
  10.3:22223 10.4:1111122222233333 10.5:22222 10.6:22 10.7:222 11.1:2233 11.2:22233 11.3:11233 11.4:1222 11.5:23
  11.6:23 11.7:33 12.1:12233 12.2:11 12.3:22223 13.1:2333 13.2:222223 13.3:2233 13.4:1222233 14.1:22
  14.2:12223333 14.3:122 15.1:12233 15.2:12233 15.3:1222222 15.4:3333 16.1:2 16.2:22222 16.3:2222 16.4:222
  16.5:2223 17.1:23 17.2:22223333 17.3:22
`
const expectedRequirements = levels
  .trim()
  .split(/\s+/)
  .flatMap((requirement) => {
    const [section = '', each = ''] = requirement.split(':')
    return Array.from(each, (level, index) => ({ number: `${section}.${index + 1}`, level: Number(level) }))
  })

const states = ['holds', 'holds, untested', 'does not hold', 'not applicable', 'deployment']

interface Requirement {
  number: string
  level: number
  state: string
  /** The text after the state. */
  reason: string
  /** `file › name` of each test. */
  tests: string[]
}

const testReference = /`([^`\s]+\.test\.(?:ts|mjs)) › ([^`]+)`/g

/** The lines of the document about requirements; each begins with its number. */
function linesOf(document: string): Requirement[] {
  return document
    .split(/^- (?=\*\*\d)/m)
    .slice(1)
    .map((entry) => {
      const requirement = entry.split(/\n(?=#)/)[0] ?? ''
      const form = /^\*\*([\d.]+)\*\* L(\d)\. .+?\. \*\*([a-z, ]+)\*\*/s
      const [head = '', number = '', level = '', state = ''] = form.exec(requirement) ?? []
      const tests = [...requirement.matchAll(testReference)].map(([, file, name]) => `${file} › ${name}`)
      const reason = requirement.slice(head.length).replaceAll(testReference, '').replaceAll(/\s+/g, ' ').trim()
      return { number, level: Number(level), state, reason, tests }
    })
}

/** The names of the tests in a file as written; all cases of `test.each` have one name. */
function testsIn(file: string, source: string): string[] {
  const names: string[] = []
  const rootOf = (node: ts.Expression): string => {
    if (ts.isIdentifier(node)) return node.text
    return ts.isPropertyAccessExpression(node) || ts.isCallExpression(node) ? rootOf(node.expression) : ''
  }
  const visit = (node: ts.Node): void => {
    const [name] = ts.isCallExpression(node) && rootOf(node.expression) === 'test' ? node.arguments : []
    if (name && ts.isStringLiteralLike(name)) names.push(`${file} › ${name.text}`)
    ts.forEachChild(node, visit)
  }
  visit(ts.createSourceFile(file, source, ts.ScriptTarget.Latest, true))
  return names
}

const lines = linesOf(text)
const read = (file: string): string => (existsSync(join(root, file)) ? readFileSync(join(root, file), 'utf8') : '')

test('the standard has 70 requirements of level 1, 183 of level 2 and 92 of level 3', () => {
  expect([1, 2, 3].map((level) => expectedRequirements.filter((one) => one.level === level).length)).toEqual([
    70, 183, 92,
  ])
})

test('each requirement of levels 1 and 2 has exactly one line, in the order of the standard', () => {
  const actual = lines.map(({ number, level }) => ({ number, level }))
  expect(actual).toEqual(expectedRequirements.filter(({ level }) => level < 3))
})

test('each line that holds names a test, and every other line a reason or a file', () => {
  expect(lines.filter(({ state }) => !states.includes(state))).toEqual([])
  const unproved = lines.filter(({ state, tests }) => state === 'holds' && tests.length === 0)
  expect(unproved.map(({ number }) => number)).toEqual([])
  const unexplained = lines.filter(({ state, reason }) => state !== 'holds' && !/[a-z]/.test(reason))
  expect(unexplained.map(({ number }) => number)).toEqual([])
  const untested = lines.filter(({ state }) => state === 'holds, untested')
  expect(untested.filter(({ tests }) => tests.length > 0)).toEqual([])
  expect(untested.filter(({ reason }) => !/`[\w/.-]+`|\]\(/.test(reason)).map(({ number }) => number)).toEqual([])
})

test('the totals at the head of the document match its lines', () => {
  for (const state of states) {
    const counts = [1, 2].map(
      (level) => lines.filter((requirement) => requirement.state === state && requirement.level === level).length,
    )
    const row = new RegExp(`^\\| ${state} +\\| (\\d+) +\\| (\\d+) +\\|$`, 'm').exec(text)
    expect([state, ...(row?.slice(1).map(Number) ?? [])]).toEqual([state, ...counts])
  }
})

test('every test that the document names exists with exactly that name', () => {
  const named = [...text.matchAll(testReference)].map(([, file = '', name]) => ({ file, test: `${file} › ${name}` }))
  expect(named.length).toBeGreaterThan(150)
  expect(text.match(/ › /g)).toHaveLength(named.length)
  const known = new Set([...new Set(named.map(({ file }) => file))].flatMap((file) => testsIn(file, read(file))))
  expect(named.filter(({ test: name }) => !known.has(name)).map(({ test: name }) => name)).toEqual([])
})

test('a renamed, removed or moved test is detected', () => {
  const source =
    "test('a door is shut', () => {})\ntest.each([1])('%s is a number', () => {})\ndescribe('a door', () => {})"
  expect(testsIn('a.test.ts', source)).toEqual(['a.test.ts › a door is shut', 'a.test.ts › %s is a number'])
  expect(testsIn('a.test.ts', '')).toEqual([])
})

test('every path and every link in the document exists', () => {
  const paths = [...text.matchAll(/`((?:server|docs|scripts)\/[\w./-]+)/g)].map(([, name = '']) => name)
  expect(paths.length).toBeGreaterThan(20)
  expect(paths.filter((name) => !existsSync(join(root, name)))).toEqual([])
  const links = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link)
  expect(links.length).toBeGreaterThan(20)
  expect(links.filter((link) => !exists(link))).toEqual([])
})

function exists(link: string): boolean {
  const [file = '', anchor] = link.split('#')
  const target = file === '' ? path : normalize(join(dirname(path), file))
  if (!existsSync(join(root, target))) return false
  const headings = [...read(target).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => anchorOf(heading))
  return anchor === undefined || headings.includes(anchor)
}

const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\d _-]/gu, '')
    .replaceAll(' ', '-')
