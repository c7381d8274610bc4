import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

const root = fileURLToPath(new URL('../..', import.meta.url))

export interface Import {
  /** The imported file's path below the root, or the name of a package. */
  target: string
  /** The names that are imported at run time, without types. */
  values: readonly string[]
}

export interface Source {
  /** The path below the root, with `/`. */
  path: string
  isTest: boolean
  lines: number
  nonBlankLines: number
  imports: readonly Import[]
  /** The functions, each with its number of lines without those of inner functions, and whether it contains JSX. */
  functions: readonly { name: string; lines: number; hasMarkup: boolean }[]
  /** The strings and templates, with `?` for each substitution. */
  texts: readonly string[]
  /** The forbidden constructs, such as `any at line 7`. */
  forbidden: readonly string[]
  /** The declared names and the titles of tests. */
  names: readonly { text: string; line: number }[]
  /** The text with spaces for everything outside comments. */
  comments: string
}

/** Parses every TypeScript file in the given folders; once for all test files of a worker. */
export const readSources = (folders: readonly string[], extension = /\.ts$/): Source[] =>
  readTexts(folders, extension).map(({ path, text }) => {
    const known = parsed.get(path)
    const source = known?.text === text ? known.source : parseSource(path, text)
    parsed.set(path, { text, source })
    return source
  })
const parsed = new Map<string, { text: string; source: Source }>()

/** The files in the given folders, at any depth. */
export const readTexts = (folders: readonly string[], extension: RegExp): { path: string; text: string }[] =>
  folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true })
      .map((name) => join(folder, String(name)))
      .filter((path) => extension.test(path))
      .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') })),
  )

/** The tables that the migrations in a folder create. */
export const tablesOf = (folder: string): string[] =>
  readdirSync(join(root, folder)).flatMap((name) =>
    [...readFileSync(join(root, folder, name), 'utf8').matchAll(/^create table (?:if not exists )?(\w+)/gm)].map(
      ([, table]) => table ?? '',
    ),
  )

/** Tests may use `any` and expect compiler errors if they give a reason. */
const anyExcuse = /oxlint-disable-next-line no-explicit-any -- \S/

/** Parses the text of one file. */
export function parseSource(path: string, text: string): Source {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.ES2023, true)
  const lineOf = (position: number) => file.getLineAndCharacterOfPosition(position).line + 1
  const linesOf = (node: ts.Node) => lineOf(node.end) - lineOf(node.getStart()) + 1
  const isTest = /\.test\.tsx?$/.test(path) || path.startsWith('server/test/')
  const textLines = text.trimEnd().split('\n')
  const imports: Import[] = []
  const functions: { name: string; lines: number; hasMarkup: boolean }[] = []
  const texts: string[] = []
  const forbidden: string[] = []
  const names: { text: string; line: number }[] = []
  const literals: ts.Node[] = []
  const visit = (node: ts.Node): void => {
    const found = readImport(node, path)
    if (found) imports.push(found)
    if (isFunction(node)) {
      const name = `${node.name?.getText() ?? 'a function'} at line ${lineOf(node.getStart())}`
      functions.push({ name, lines: ownLines(node, linesOf), hasMarkup: containsMarkup(node) })
    }
    if (ts.isStringLiteralLike(node)) texts.push(node.text)
    if (ts.isTemplateExpression(node))
      texts.push([node.head, ...node.templateSpans.map(({ literal }) => literal)].map(({ text }) => text).join('?'))
    if (ts.isLiteralExpression(node) || ts.isTemplateLiteralToken(node)) literals.push(node)
    const name = nameIn(node)
    if (name) names.push({ text: name.text, line: lineOf(name.getStart()) })
    const construct = forbiddenConstruct(node)
    const line = lineOf(node.getStart())
    const isExcused = isTest && construct === 'any' && anyExcuse.test(textLines[line - 2] ?? '')
    if (construct && !isExcused) forbidden.push(`${construct} at line ${line}`)
    ts.forEachChild(node, visit)
  }
  visit(file)
  for (const { 1: name, 2: reason, index } of text.matchAll(/\/[/*]\s*(@ts-(?:ignore|nocheck|expect-error))(.*)/g)) {
    const isExpected = isTest && name === '@ts-expect-error' && reason?.trim()
    if (!isExpected) forbidden.push(`${name} at line ${lineOf(index)}`)
  }
  const comments = onlyComments(text, literals)
  const [lines, nonBlankLines] = [textLines.length, textLines.filter((line) => line.trim()).length]
  return { path, isTest, lines, nonBlankLines, imports, functions, texts, forbidden, names, comments }
}

/** The name that a node declares, or the title if it is a call of `test`. */
function nameIn(node: ts.Node): ts.Identifier | ts.PrivateIdentifier | ts.StringLiteralLike | undefined {
  if (ts.isCallExpression(node) && /^(?:test|describe|browserTest)\b/.test(node.expression.getText())) {
    const [title] = node.arguments
    return title && ts.isStringLiteralLike(title) ? title : undefined
  }
  const { name } = node as ts.NamedDeclaration
  const isDeclared = name !== undefined && !ts.isPropertyAccessExpression(node) && !ts.isImportSpecifier(node)
  return isDeclared && (ts.isIdentifier(name) || ts.isPrivateIdentifier(name)) ? name : undefined
}

/** Literals are removed first, because a string such as `https://…` looks as if it contained a comment. */
function onlyComments(text: string, literals: readonly ts.Node[]): string {
  const blank = (part: string) => part.replaceAll(/\S/g, ' ')
  let [code, end] = ['', 0]
  for (const literal of literals) {
    code += text.slice(end, literal.getStart()) + blank(literal.getText())
    end = literal.end
  }
  code += text.slice(end)
  return code.replaceAll(/(\/\*[\s\S]*?\*\/|\/\/.*)|\S/g, (part, comment?: string) => comment ?? blank(part))
}

const isFunction = (node: ts.Node): node is ts.FunctionLikeDeclaration =>
  ts.isFunctionLike(node) && 'body' in node && node.body !== undefined

/** The lines of a function; each outermost inner function counts as one line. */
function ownLines(node: ts.Node, linesOf: (node: ts.Node) => number): number {
  let lines = linesOf(node)
  const subtract = (child: ts.Node): void => {
    if (isFunction(child)) lines -= linesOf(child) - 1
    else ts.forEachChild(child, subtract)
  }
  ts.forEachChild(node, subtract)
  return lines
}

const containsMarkup = (node: ts.Node): boolean =>
  ts.isJsxElement(node) ||
  ts.isJsxSelfClosingElement(node) ||
  ts.isJsxFragment(node) ||
  (ts.forEachChild(node, (child) => containsMarkup(child) || undefined) ?? false)

function forbiddenConstruct(node: ts.Node): string | undefined {
  if (node.kind === ts.SyntaxKind.AnyKeyword) return 'any'
  if (ts.isExportAssignment(node) || node.kind === ts.SyntaxKind.DefaultKeyword) {
    return ts.isDefaultClause(node.parent) || ts.isCaseBlock(node.parent) ? undefined : 'a default export'
  }
  return undefined
}

function readImport(node: ts.Node, path: string): Import | undefined {
  if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
    const [argument] = node.arguments
    if (!argument || !ts.isStringLiteral(argument)) return undefined
    return { target: targetOf(argument.text, path), values: ['*'] }
  }
  if (!ts.isImportDeclaration(node) && !ts.isExportDeclaration(node)) return undefined
  if (!node.moduleSpecifier || !ts.isStringLiteral(node.moduleSpecifier)) return undefined
  const target = targetOf(node.moduleSpecifier.text, path)
  if (ts.isExportDeclaration(node)) return { target, values: node.isTypeOnly ? [] : ['*'] }
  const clause = node.importClause
  if (!clause) return { target, values: ['*'] }
  if (clause.isTypeOnly) return { target, values: [] }
  const names = clause.namedBindings && ts.isNamedImports(clause.namedBindings) ? clause.namedBindings.elements : []
  const values = names.filter((name) => !name.isTypeOnly).map((name) => (name.propertyName ?? name.name).text)
  const takesAll = clause.name !== undefined || (clause.namedBindings && ts.isNamespaceImport(clause.namedBindings))
  return { target, values: takesAll ? [...values, '*'] : values }
}

const targetOf = (specifier: string, path: string): string =>
  specifier.startsWith('.') ? relative('.', join(dirname(path), specifier)) : specifier
