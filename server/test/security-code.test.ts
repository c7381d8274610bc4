import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { expect, test } from 'vitest'
import { headings, routes } from '../src/app.ts'
import { openapi } from '../src/platform/openapi/openapi.ts'

const folder = fileURLToPath(new URL('../src', import.meta.url))

interface Use {
  construct: string
  /** The source text of the arguments. */
  argumentTexts: readonly string[]
  /** Whether it is evaluated once, when the file is loaded, before any request. */
  isConstant: boolean
  location: string
}

/** The calls, constructions and imported modules of a file, given as text. */
function usesIn(path: string, text: string): Use[] {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true)
  const uses: Use[] = []
  const visit = (node: ts.Node, isConstant: boolean): void => {
    const location = `${path}:${file.getLineAndCharacterOfPosition(node.getStart()).line + 1}`
    if (ts.isCallExpression(node) || ts.isNewExpression(node)) {
      const name = node.expression.getText().replaceAll(/\s+/g, '')
      const argumentTexts = (node.arguments ?? []).map((argument) => argument.getText())
      uses.push({ construct: ts.isNewExpression(node) ? `new ${name}` : name, argumentTexts, isConstant, location })
    }
    if (ts.isImportDeclaration(node) && ts.isStringLiteral(node.moduleSpecifier)) {
      uses.push({
        construct: `import ${node.moduleSpecifier.text}`,
        argumentTexts: [node.getText()],
        isConstant,
        location,
      })
    }
    const isInside = ts.isFunctionLike(node)
    ts.forEachChild(node, (child) => visit(child, isConstant && !isInside))
  }
  visit(file, true)
  return uses
}

const productFiles = readdirSync(folder, { recursive: true })
  .map(String)
  .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
const uses = productFiles.flatMap((name) => usesIn(`server/src/${name}`, readFileSync(join(folder, name), 'utf8')))
const locationsOf = (predicate: (use: Use) => boolean): string[] =>
  uses.filter(predicate).map(({ location }) => location)

/** Whether it executes text as code or in a shell. */
const executesText = ({ construct, argumentTexts }: Use): boolean =>
  /^(?:new )?(?:globalThis\.)?(?:eval|Function)$/.test(construct) ||
  /^(?:\w*[pP]rocess\.)?(?:exec|execSync)$/.test(construct) ||
  (/(?:spawn|execFile)(?:Sync)?$/.test(construct) && argumentTexts.some((argument) => /\bshell\b/.test(argument))) ||
  (/^set(?:Timeout|Interval)$/.test(construct) && /^['"`]/.test(argumentTexts[0] ?? '')) ||
  /^import (?:node:)?(?:vm|repl)$/.test(construct)

test('the source scan detects the constructs it looks for and covers the product', () => {
  expect(productFiles.length).toBeGreaterThan(150)
  const bad = [
    ...['eval(text)', 'new Function(text)', 'globalThis.eval(text)', 'exec(text)', 'setTimeout("text", 1)'],
    ...['spawn(text, [], { shell: true })', 'import vm from "node:vm"', 'import { run } from "vm"'],
  ]
  for (const text of bad) expect(usesIn('x.ts', text).some(executesText), text).toBe(true)
  const good = ['pattern.exec(text)', 'spawn(text, [])', 'setTimeout(work, 1)', 'evaluate(text)']
  for (const text of good) expect(usesIn('x.ts', text).some(executesText), text).toBe(false)
  const [atTop, within] = usesIn('x.ts', 'const a = new RegExp(b)\nconst c = (d: string) => new RegExp(d)')
  expect([atTop?.isConstant, within?.isConstant]).toEqual([true, false])
})

test('no text is executed as code, and no command runs through a shell', () => {
  expect(locationsOf(executesText)).toEqual([])
})

test('no regular expression is built from input: each is created when its file is loaded or from declared paths and phrases', () => {
  const createsPattern = ({ construct }: Use) => construct === 'new RegExp' || construct === 'RegExp'
  expect(locationsOf(createsPattern).length).toBeGreaterThan(3)
  const createdLater = uses.filter((use) => createsPattern(use) && !use.isConstant)
  expect(
    createdLater.map(({ argumentTexts, location }) => [location.replace(/:\d+$/, ''), argumentTexts[0]?.slice(0, 15)]),
  ).toEqual([
    ['server/src/platform/http/server.ts', '`^${path.replac'],
    ['server/src/assistant/analysis/rules/opt-out-doubts.ts', 'String.raw`(?<!'],
    ['server/src/assistant/analysis/rules/pattern.ts', '`${boundaryBefo'],
    ['server/src/assistant/analysis/rules/dates/words.ts', 'String.raw`(?<!'],
  ])
})

test('Math.random only varies delays, never secrets', () => {
  const randomUses = uses.filter(({ construct }) => construct === 'Math.random')
  const delayFiles = [
    'platform/database/database.ts',
    'platform/background/loop.ts',
    'webhooks/schedule.ts',
    'inbox/push/worker.ts',
  ]
  expect(new Set(randomUses.map(({ location }) => location.replace(/:\d+$/, '')))).toEqual(
    new Set(delayFiles.map((name) => `server/src/${name}`)),
  )
})

test('the only algorithms are SHA-256, HMAC and HKDF with SHA-256, AES-256-GCM, and what push services require', () => {
  const primitives = uses.filter(({ construct }) =>
    /^(?:createHash|createHmac|hkdfSync|create(?:C|Dec)ipheriv)$/.test(construct),
  )
  expect(primitives.length).toBeGreaterThan(15)
  // Breached passwords are published as SHA-1, which is used only to look them up.
  const isBreachLookup = (use: (typeof primitives)[number]) =>
    use.location.startsWith('server/src/identity/access/breached-')
  expect(primitives.filter(isBreachLookup).map(({ argumentTexts }) => argumentTexts[0])).toEqual(["'sha1'"])
  // Browsers decrypt notifications with the 128 bits of RFC 8291.
  const isNotification = (use: (typeof primitives)[number]) =>
    use.location.startsWith('server/src/inbox/push/encryption')
  expect(primitives.filter(isNotification).map(({ argumentTexts }) => argumentTexts[0])).toContain("'aes-128-gcm'")
  const algorithms = new Set(
    primitives
      .filter((use) => !isBreachLookup(use) && !isNotification(use))
      .map(({ argumentTexts }) => argumentTexts[0]),
  )
  expect(algorithms).toEqual(new Set(["'sha256'", "'aes-256-gcm'"]))
  const others =
    /^(?:(?:node)?[cC]rypto\.)?(?:pbkdf2|scrypt|createSign|createVerify|publicEncrypt|privateDecrypt)(?:Sync)?$/
  expect(locationsOf(({ construct }) => others.test(construct))).toEqual([])
})

/** The sources of the web application, by path. */
const webFolder = fileURLToPath(new URL('../../web', import.meta.url))
const webSources = new Map(
  ['src', 'public']
    .flatMap((name) =>
      readdirSync(join(webFolder, name), { recursive: true, encoding: 'utf8' }).map((path) => join(name, path)),
    )
    .filter((path) => /(?<!\.test)(?<!\.d)\.(?:tsx?|js)$/.test(path))
    .map((path) => [path, readFileSync(join(webFolder, path), 'utf8')]),
)

test('the service’s pages insert data as text, never as HTML, and store only preferences in the browser', () => {
  expect(webSources.size).toBeGreaterThan(100)
  const explorer = readFileSync(join(folder, 'api/docs/explorer.ts'), 'utf8')
  for (const [path, script] of [...webSources, ['explorer.ts', explorer] as const]) {
    expect([path, script]).not.toEqual([
      path,
      expect.stringMatching(
        /dangerouslySetInnerHTML|innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment/,
      ),
    ])
    expect([path, script]).not.toEqual([
      path,
      expect.stringMatching(/indexedDB|document\.cookie|(?<!tabs\.|#channel\.)postMessage/),
    ])
  }
  // It compares the names of two files; what it parses is never inserted.
  const parsing = [...webSources].filter(([, script]) => script.includes('DOMParser')).map(([path]) => path)
  expect([parsing, explorer.includes('DOMParser')]).toEqual([['src/api/load-chunk.ts'], false])
  // They reach only pages of the same origin, unlike the method of a window.
  expect(webSources.get('src/live/follow.ts')).toContain('this.#channel = new BroadcastChannel(name)')
  expect(webSources.get('src/api/session.ts')).toContain("const tabs = new BroadcastChannel('rapport.session')")
  const storing = [...webSources]
    .filter(([, script]) => /localStorage|sessionStorage/.test(script))
    .map(([path]) => path)
  expect(storing.toSorted()).toEqual(['public/theme.js', 'src/preferences/storage.ts'])
  expect(explorer).not.toMatch(/localStorage|sessionStorage/)
})

test('password fields hide their text and allow pasting and password managers', () => {
  const text = [...webSources]
    .filter(([path]) => path.endsWith('.tsx'))
    .map(([, script]) => script)
    .join('\n')
  // The house component starts with the type `password`; no other input has it.
  expect([...text.matchAll(/'password'/g)].length).toBeGreaterThan(0)
  expect(text).not.toMatch(/type="password"/)
  const fields = [...text.matchAll(/<PasswordField\s+name="\w*password\w*"[^>]*?\/>/gis)].map(([field]) => field)
  expect(fields.length).toBeGreaterThan(2)
  for (const field of fields) expect(field).toMatch(/autoComplete="(?:current|new)-password"/)
  expect(text).not.toMatch(/onPaste|onCopy/)
})

test('all log messages go to the one logger of the service', () => {
  expect(locationsOf(({ construct }) => /^(?:globalThis\.)?console\./.test(construct))).toEqual([])
  const logs = locationsOf(({ construct }) => construct === 'pino')
  expect(logs.map((location) => location.replace(/:\d+$/, ''))).toEqual(['server/src/log.ts'])
})

test('logging in asks only for an address, a password, a code, a passkey or a link', () => {
  const document = openapi(routes, headings) as unknown as Described
  const paths = Object.keys(document.paths).filter((path) => path.startsWith('/auth'))
  expect(paths.length).toBeGreaterThan(10)
  const requestedFields = paths.flatMap((path) => {
    const { $ref } = document.paths[path]?.post?.requestBody?.content['application/json']?.schema ?? {}
    return Object.keys(document.components.schemas[$ref?.split('/').at(-1) ?? '']?.properties ?? {})
  })
  const expectedFields = [
    'email',
    'password',
    'code',
    'credential',
    'token',
    'pendingToken',
    'name',
    'organization',
    'cookie',
  ]
  // For checks before a form is sent: the purpose of a link, and the names that a password must not contain.
  expectedFields.push('purpose', 'names')
  // Of the first owner’s browser, for the new organization.
  expectedFields.push('timeZone')
  // Of the page, for mails.
  expectedFields.push('language')
  expect(new Set(requestedFields)).toEqual(new Set(expectedFields))
})

interface Described {
  paths: Record<string, { post?: { requestBody?: { content: Record<string, { schema: { $ref?: string } }> } } }>
  components: { schemas: Record<string, { properties?: object }> }
}
