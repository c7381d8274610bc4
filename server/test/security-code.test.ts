import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { expect, test } from 'vitest'
import { accountPage } from '../src/identity/auth/page.ts'
import { pageScript } from '../src/identity/auth/page-script.ts'
import { pageData } from '../src/identity/auth/page-views.ts'

const folder = fileURLToPath(new URL('../src', import.meta.url))

interface Use {
  what: string
  /** The arguments as they are written. */
  given: readonly string[]
  /** Made once, when the file is loaded: nothing of a request is there. */
  isConstant: boolean
  place: string
}

/** Calls and constructions, and imported modules, of a file that is given as text. */
function usesIn(path: string, text: string): Use[] {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true)
  const uses: Use[] = []
  const visit = (node: ts.Node, isConstant: boolean): void => {
    const place = `${path}:${file.getLineAndCharacterOfPosition(node.getStart()).line + 1}`
    if (ts.isCallExpression(node) || ts.isNewExpression(node)) {
      const name = node.expression.getText().replaceAll(/\s+/g, '')
      const given = (node.arguments ?? []).map((argument) => argument.getText())
      uses.push({ what: ts.isNewExpression(node) ? `new ${name}` : name, given, isConstant, place })
    }
    if (ts.isImportDeclaration(node) && ts.isStringLiteral(node.moduleSpecifier)) {
      uses.push({ what: `import ${node.moduleSpecifier.text}`, given: [node.getText()], isConstant, place })
    }
    const isInside = ts.isFunctionLike(node)
    ts.forEachChild(node, (child) => visit(child, isConstant && !isInside))
  }
  visit(file, true)
  return uses
}

const product = readdirSync(folder, { recursive: true })
  .map(String)
  .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
const uses = product.flatMap((name) => usesIn(`server/src/${name}`, readFileSync(join(folder, name), 'utf8')))
const placesOf = (isMeant: (use: Use) => boolean): string[] => uses.filter(isMeant).map(({ place }) => place)

/** Makes code of text, or gives text to a shell. */
const makesCode = ({ what, given }: Use): boolean =>
  /^(?:new )?(?:globalThis\.)?(?:eval|Function)$/.test(what) ||
  /^(?:\w*[pP]rocess\.)?(?:exec|execSync)$/.test(what) ||
  (/(?:spawn|execFile)(?:Sync)?$/.test(what) && given.some((argument) => /\bshell\b/.test(argument))) ||
  (/^set(?:Timeout|Interval)$/.test(what) && /^['"`]/.test(given[0] ?? '')) ||
  /^import (?:node:)?(?:vm|repl)$/.test(what)

test('the reader of the code sees what it looks for, and there is a product to read', () => {
  expect(product.length).toBeGreaterThan(150)
  const bad = [
    ...['eval(text)', 'new Function(text)', 'globalThis.eval(text)', 'exec(text)', 'setTimeout("text", 1)'],
    ...['spawn(text, [], { shell: true })', 'import vm from "node:vm"', 'import { run } from "vm"'],
  ]
  for (const text of bad) expect(usesIn('x.ts', text).some(makesCode), text).toBe(true)
  const good = ['pattern.exec(text)', 'spawn(text, [])', 'setTimeout(work, 1)', 'evaluate(text)']
  for (const text of good) expect(usesIn('x.ts', text).some(makesCode), text).toBe(false)
  const [atTop, within] = usesIn('x.ts', 'const a = new RegExp(b)\nconst c = (d: string) => new RegExp(d)')
  expect([atTop?.isConstant, within?.isConstant]).toEqual([true, false])
})

test('no text becomes code and no command goes through a shell', () => {
  expect(placesOf(makesCode)).toEqual([])
})

test('no regular expression is made of what a caller sends: each is there once its file is loaded, or is made of declared paths', () => {
  const made = ({ what }: Use) => what === 'new RegExp' || what === 'RegExp'
  expect(placesOf(made).length).toBeGreaterThan(3)
  const later = uses.filter((use) => made(use) && !use.isConstant)
  expect(later.map(({ given, place }) => [place.replace(/:\d+$/, ''), given[0]?.slice(0, 15)])).toEqual([
    ['server/src/platform/http/server.ts', '`^${path.replac'],
  ])
})

test('what nobody may guess is never drawn with Math.random: it only spreads pauses', () => {
  const drawn = uses.filter(({ what }) => what === 'Math.random')
  const pauses = ['platform/database/database.ts', 'platform/background/loop.ts']
  expect(new Set(drawn.map(({ place }) => place.replace(/:\d+$/, '')))).toEqual(
    new Set(pauses.map((name) => `server/src/${name}`)),
  )
})

test('hashes, codes and ciphers are SHA-256, HMAC and HKDF with it, and AES-256-GCM, everywhere', () => {
  const primitives = uses.filter(({ what }) => /^(?:createHash|createHmac|hkdfSync|create(?:C|Dec)ipheriv)$/.test(what))
  expect(primitives.length).toBeGreaterThan(15)
  // Sets of breached passwords are published as SHA-1: it finds a line, and protects nothing.
  const lookUp = (use: (typeof primitives)[number]) => use.place.startsWith('server/src/identity/access/breached-')
  expect(primitives.filter(lookUp).map(({ given }) => given[0])).toEqual(["'sha1'"])
  const algorithms = new Set(primitives.filter((use) => !lookUp(use)).map(({ given }) => given[0]))
  expect(algorithms).toEqual(new Set(["'sha256'", "'aes-256-gcm'"]))
  const others =
    /^(?:(?:node)?[cC]rypto\.)?(?:pbkdf2|scrypt|createSign|createVerify|publicEncrypt|privateDecrypt)(?:Sync)?$/
  expect(placesOf(({ what }) => others.test(what))).toEqual([])
})

test('the pages of ours take what they are told as text and never as HTML, and keep nothing in the browser', () => {
  for (const script of [pageScript, readFileSync(join(folder, 'resources/docs/explorer.ts'), 'utf8')]) {
    expect(script).not.toMatch(
      /innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|createContextualFragment/,
    )
    expect(script).not.toMatch(/localStorage|sessionStorage|indexedDB|document\.cookie|postMessage/)
  }
  expect(pageScript).toContain('textContent')
})

test('passwords are typed into fields that hide them, and that password managers fill and people paste into', () => {
  const { fields } = JSON.parse(pageData)
  expect(fields.password).toMatchObject({ type: 'password', autocomplete: 'new-password' })
  expect(fields.currentPassword).toMatchObject({ type: 'password', autocomplete: 'current-password' })
  expect(pageScript).not.toMatch(/onpaste|'paste'|'copy'|"autocomplete":"off"/)
  expect(accountPage.map(({ path }) => path)).toContain('/account/start.js')
})

test('what a log says goes to the one log of the service: nothing is written past it', () => {
  expect(placesOf(({ what }) => /^(?:globalThis\.)?console\./.test(what))).toEqual([])
  const logs = placesOf(({ what }) => what === 'pino')
  expect(logs.map((place) => place.replace(/:\d+$/, ''))).toEqual(['server/src/log.ts'])
})

test('nobody who logs in is asked for anything but an address, a password, a code, a passkey or a link', () => {
  const document = JSON.parse(readFileSync(join(folder, '../../openapi.json'), 'utf8')) as Described
  const paths = Object.keys(document.paths).filter((path) => path.startsWith('/auth'))
  expect(paths.length).toBeGreaterThan(10)
  const asked = paths.flatMap((path) => {
    const { $ref } = document.paths[path]?.post?.requestBody?.content['application/json']?.schema ?? {}
    return Object.keys(document.components.schemas[$ref?.split('/').at(-1) ?? '']?.properties ?? {})
  })
  const known = ['email', 'password', 'code', 'credential', 'token', 'pendingToken', 'name', 'organization', 'cookie']
  // Checks of a form before it is sent: which link it is, and what a new password must not be made of.
  known.push('purpose', 'names')
  expect(new Set(asked)).toEqual(new Set(known))
})

interface Described {
  paths: Record<string, { post?: { requestBody?: { content: Record<string, { schema: { $ref?: string } }> } } }>
  components: { schemas: Record<string, { properties?: object }> }
}
