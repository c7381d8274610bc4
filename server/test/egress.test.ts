import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { expect, test } from 'vitest'

// Only platform/egress may connect to an address that a caller chose. This test finds all network access through Node.js
// and our libraries in the source code.

const root = fileURLToPath(new URL('../..', import.meta.url))

/** Imports from network modules of Node.js that open no connection; any other import counts as network access. */
const harmlessImports: Readonly<Record<string, ReadonlySet<string>>> = {
  http: new Set(['createServer', 'METHODS', 'STATUS_CODES']),
  https: new Set(),
  http2: new Set(),
  net: new Set(['isIP', 'isIPv4', 'isIPv6', 'BlockList', 'createServer']),
  tls: new Set(),
  dgram: new Set(),
  dns: new Set(),
  'dns/promises': new Set(),
  inspector: new Set(),
}

/** Globals that open connections, and those that could bypass this check. */
const globals = new Set(['fetch', 'WebSocket', 'EventSource', 'XMLHttpRequest', 'eval', 'require'])

/** Functions of libraries that fetch a URL, or could bypass this check. */
const fetchingFunctions = new Set(['createRemoteJWKSet', 'getBuiltinModule'])

/** Packages that open connections. */
const clientPackages =
  /^(?:undici|axios|got|ky|needle|superagent|request|node-fetch|cross-fetch|ws|pg|postgres|nodemailer|openid-client|oauth4webapi|openai)(?:\/|$)/

const egress = 'server/src/platform/egress/'

/** Network access that is allowed outside the egress module, and why. None uses an address that a caller chose. */
const allowed: Readonly<Record<string, string>> = {
  'server/src/cli/examine-service.ts: fetch': 'the doctor checks this installation’s own service',
  'server/src/platform/database/: pg': 'the operator’s own database (DATABASE_URL)',
  'server/src/platform/operations/schema/: pg': 'a temporary database that it started, to compare schemas',
  'server/src/platform/operations/embedded-postgres/: pg': 'the database that this service started, on a Unix socket',
  'server/src/cli/: pg': 'the operator’s own database (DATABASE_URL)',
  'server/src/identity/mails/: nodemailer': 'the operator’s own mail server (SMTP_URL)',
  'server/src/identity/single-sign-on/provider.ts: openid-client': 'every request goes through `customFetch`',
  'server/src/assistant/analysis/model/client.ts: openai': 'every request goes through its option `fetch`',
}

/** The network access of one file, such as `net.connect`. */
function networkAccess(path: string, text: string): string[] {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.ES2023, true)
  const found: string[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node) && !node.importClause?.isTypeOnly) found.push(...importsOf(node))
    else if (ts.isExportDeclaration(node) && !node.isTypeOnly && node.moduleSpecifier)
      found.push(...networkImports(node.moduleSpecifier, ['*']))
    else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword)
      found.push(...networkImports(node.arguments[0], ['*']))
    else if (ts.isIdentifier(node) && globals.has(node.text) && isReference(node)) found.push(node.text)
    else if (ts.isIdentifier(node) && fetchingFunctions.has(node.text)) found.push(node.text)
    else if (ts.isStringLiteral(node) && globals.has(node.text) && ts.isElementAccessExpression(node.parent))
      found.push(node.text)
    ts.forEachChild(node, visit)
  }
  visit(file)
  return [...new Set(found)]
}

function importsOf(node: ts.ImportDeclaration): string[] {
  const clause = node.importClause
  const bindings = clause?.namedBindings
  const names = bindings && ts.isNamedImports(bindings) ? bindings.elements : []
  const values = names.filter((name) => !name.isTypeOnly).map((name) => (name.propertyName ?? name.name).text)
  const takesAll = !clause || clause.name !== undefined || (bindings && ts.isNamespaceImport(bindings))
  return networkImports(node.moduleSpecifier, takesAll ? [...values, '*'] : values)
}

/** The imports of a module that can open connections. */
function networkImports(specifier: ts.Expression | undefined, values: readonly string[]): string[] {
  if (!specifier || !ts.isStringLiteral(specifier)) return ['an import that cannot be read']
  const name = specifier.text.replace(/^node:/, '')
  if (clientPackages.test(name)) return values.length > 0 ? [name.split('/')[0] ?? name] : []
  const known = Object.hasOwn(harmlessImports, name) ? harmlessImports[name] : undefined
  return known ? values.filter((value) => !known.has(value)).map((value) => `${name}.${value}`) : []
}

/** Whether the name refers to the global, not to a property or type of the same name. */
function isReference(node: ts.Identifier): boolean {
  const { parent } = node
  if (ts.isPropertyAccessExpression(parent) && parent.name === node)
    return ['globalThis', 'global', 'self'].includes(parent.expression.getText())
  if (ts.isBindingElement(parent) && (parent.propertyName ?? parent.name) === node) return true
  const isName = 'name' in parent && parent.name === node && !ts.isShorthandPropertyAssignment(parent)
  return !isName && !ts.isTypeNode(parent) && !ts.isQualifiedName(parent)
}

const product = readdirSync(join(root, 'server/src'), { recursive: true })
  .map((name) => relative(root, join(root, 'server/src', String(name))))
  .filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts'))
const found = product.flatMap((path) =>
  networkAccess(path, readFileSync(join(root, path), 'utf8')).map((access) => ({ path, access })),
)
const isAllowed = ({ path, access }: { path: string; access: string }) =>
  Object.keys(allowed).some((entry) => {
    const [allowedPath = '', what] = entry.split(': ')
    return what === access && (allowedPath.endsWith('/') ? path.startsWith(allowedPath) : path === allowedPath)
  })

test('the source files are read, and the network access of the egress module is found', () => {
  expect(product.length).toBeGreaterThan(100)
  const own = found.filter(({ path }) => path.startsWith(egress)).map(({ access }) => access)
  expect(own).toEqual(expect.arrayContaining(['http.request', 'https.request', 'dns.*']))
})

test('only the egress module connects to an address that a caller chose', () => {
  const others = found.filter(({ path }) => !path.startsWith(egress))
  expect(others.filter((one) => !isAllowed(one)).map(({ path, access }) => `${path}: ${access}`)).toEqual([])
})

test('every exception is in use', () => {
  const unused = Object.keys(allowed).filter((entry) => {
    const [allowedPath = '', what] = entry.split(': ')
    return !found.some(({ path, access }) => access === what && path.startsWith(allowedPath))
  })
  expect(unused).toEqual([])
})

test.each([
  ['await fetch(url)', 'fetch'],
  ['const get = fetch', 'fetch'],
  ['globalThis.fetch(url)', 'fetch'],
  ['globalThis["fetch"](url)', 'fetch'],
  ['const { fetch } = globalThis', 'fetch'],
  ['const { fetch: get } = globalThis', 'fetch'],
  ['call({ fetch })', 'fetch'],
  ['new WebSocket(url)', 'WebSocket'],
  ['import { request } from "node:http"', 'http.request'],
  ['import { get } from "https"', 'https.get'],
  ['import http from "node:http"', 'http.*'],
  ['import * as net from "node:net"', 'net.*'],
  ['import { connect as open } from "node:tls"', 'tls.connect'],
  ['import { Socket } from "node:net"', 'net.Socket'],
  ['export * from "node:http2"', 'http2.*'],
  ['const net = await import("node:net")', 'net.*'],
  ['const net = await import(name)', 'an import that cannot be read'],
  ['const net = process.getBuiltinModule("net")', 'getBuiltinModule'],
  ['const net = require("net")', 'require'],
  ['import { createSocket } from "node:dgram"', 'dgram.createSocket'],
  ['import { resolveTxt } from "node:dns/promises"', 'dns/promises.resolveTxt'],
  ['import { Agent } from "undici"', 'undici'],
  ['import pg from "pg"', 'pg'],
  ['import { createRemoteJWKSet } from "jose"', 'createRemoteJWKSet'],
])('the check finds %s', (text, access) => {
  expect(networkAccess('planted.ts', text)).toContain(access)
})

test.each([
  'import type { IncomingMessage } from "node:http"',
  'import { type IncomingMessage, createServer } from "node:http"',
  'import { isIP } from "node:net"',
  'import type pg from "pg"',
  'await services.egress.fetch(url)',
  'interface Way { fetch(url: string): Promise<Response> }',
  'class Way { async fetch() { return 1 } }',
  'const note = "fetch"',
])('the check allows %s', (text) => {
  expect(networkAccess('planted.ts', text)).toEqual([])
})
