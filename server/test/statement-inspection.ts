import { loadModule, parseSync } from 'libpg-query'
import { tablesByPlace } from '../src/places.ts'

await loadModule()

const directory = new Set<string>(tablesByPlace.directory)
const views = ['contact_timeline_entries', 'company_timeline_entries', 'deal_timeline_entries']
const organization = new Set<string>([...tablesByPlace.organization, ...views])

const anyOf = (names: Iterable<string>) => new RegExp(`\\b(${[...names].join('|')})\\b`)
const namesDirectory = anyOf(directory)
const namesOrganization = anyOf(organization)
/**
 * Advisory locks on which no record depends. For those in requests and background work, a test shows that the result is
 * the same without them; they give an early answer or save work.
 */
const dispensableLocks = [
  // A concurrent request with the same Idempotency-Key gets its 409 at once (without-safeguards.test.ts).
  /^select pg_try_advisory_xact_lock\(\$\d+::bigint\) as locked, /,
  // Processes do not purge the same rows (without-safeguards.test.ts).
  /hashtextextended\('upkeep', 0\)/,
  // A test blocks its own trigger (property-indexes.test.ts).
  /^select pg_advisory_xact_lock\(\$1\)$/,
  // One process migrates at a time, under the name that its URL gives; each migration is recorded once in any case.
  /^select pg_try_advisory_xact_lock\(\$1\) locked$/,
  // One process serves from an embedded server, which is never Citus.
  /^select pg_try_advisory_lock\(\$1, \$2\) locked$/,
]

/** How `Database` begins a statement that checks the credential. */
const credentialCheckOf =
  /^(?<start>select credential\.live as credential_live, result\.\* from|with credential as materialized) \(select .*? as live\)/s

const mayBeRefused = /\brecursive\b|advisory|row_to_json/i
/** How a sub-select of this name is shown; it is the name of a table, too, which then stands elsewhere in the statement. */
const shownSubselect = /row_to_json\(properties\)|\) properties\)/g
const namesProperties = /\bproperties\b/

/** What a parsed statement uses. */
interface Use {
  tables: Set<string>
  /** Names by which statements refer to whole rows of tables. */
  rows: Set<string>
  functions: { name: string; argument: string | undefined }[]
  isRecursive: boolean
}

/** The tables of the organizations that the statement uses. */
export function organizationTablesOf(text: string): string[] {
  const parsed = namesOrganization.test(text) ? parsedOrUndefined(text) : undefined
  return parsed === undefined ? [] : [...useOf(parsed).tables].filter((table) => organization.has(table))
}

/**
 * Why the statement could not run, or would answer wrongly, with the organizations' tables on other servers than the
 * directory (`places.ts`). The credential check of a statement counts separately: such a database receives it as a
 * statement of its own. Empty for a statement that breaks no rule, or that PostgreSQL itself would refuse to parse.
 */
export function violationsOf(text: string): string[] {
  // Parsing takes a millisecond, and most statements of a suite clearly use one place, apart from the credential check.
  text = text.replace(credentialCheckOf, '$<start>')
  const other = text.replaceAll(shownSubselect, '')
  const judged = namesProperties.test(other) ? text : other
  if (!(namesDirectory.test(text) && namesOrganization.test(text)) && !mayBeRefused.test(judged)) return []
  const parsed = parsedOrUndefined(text)
  if (parsed === undefined) return []
  const use = useOf(parsed)
  const [inDirectory, inOrganization] = [directory, organization].map((tables) =>
    [...use.tables].filter((table) => tables.has(table)),
  )
  const violations: string[] = []
  if (inDirectory?.length && inOrganization?.length) {
    violations.push(`uses both places: ${inDirectory.join(', ')} and ${inOrganization.join(', ')}`)
  }
  if (use.isRecursive) violations.push('is recursive')
  for (const { name, argument } of use.functions) {
    if (name.includes('advisory') && !dispensableLocks.some((lock) => lock.test(text)))
      violations.push(`takes an advisory lock with ${name}`)
    if (name === 'row_to_json' && argument !== undefined && use.rows.has(argument)) {
      violations.push(`shows a table's row with row_to_json(${argument})`)
    }
  }
  return violations
}

function parsedOrUndefined(text: string): unknown {
  try {
    return parseSync(text)
  } catch {
    return undefined
  }
}

function useOf(parsed: unknown): Use {
  const use: Use = { tables: new Set(), rows: new Set(), functions: [], isRecursive: false }
  read(parsed, use)
  return use
}

type Node = Record<string, unknown>
const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null

/** Reads a part of the syntax tree: https://github.com/pganalyze/libpg_query, `protobuf/pg_query.proto`. */
function read(part: unknown, use: Use): void {
  if (Array.isArray(part)) return part.forEach((item) => read(item, use))
  if (!isNode(part) || isCredentialCheck(part)) return
  if (part.recursive === true) use.isRecursive = true
  // A written table has no tag of its own; everything else is tagged with its type.
  for (const range of [part.RangeVar, part.relation]) {
    if (isNode(range) && typeof range.relname === 'string') readTable(range.relname, range.alias, use)
  }
  if (isNode(part.FuncCall))
    use.functions.push({ name: functionName(part.FuncCall), argument: argumentOf(part.FuncCall) })
  for (const inner of Object.values(part)) read(inner, use)
}

function readTable(table: string, alias: unknown, use: Use): void {
  if (!directory.has(table) && !organization.has(table)) return
  use.tables.add(table)
  use.rows.add(isNode(alias) && typeof alias.aliasname === 'string' ? alias.aliasname : table)
}

/** `Database` names it so, whether it is a common table expression or a sub-select. */
function isCredentialCheck({ CommonTableExpr: common, RangeSubselect: inner }: Node): boolean {
  if (isNode(common)) return common.ctename === 'credential'
  return isNode(inner) && isNode(inner.alias) && inner.alias.aliasname === 'credential'
}

const functionName = ({ funcname }: Node): string => lastName(funcname) ?? ''

function argumentOf({ args }: Node): string | undefined {
  const [first] = Array.isArray(args) ? args : []
  return isNode(first) && isNode(first.ColumnRef) ? lastName(first.ColumnRef.fields) : undefined
}

function lastName(names: unknown): string | undefined {
  const last = Array.isArray(names) ? names.at(-1) : undefined
  return isNode(last) && isNode(last.String) && typeof last.String.sval === 'string' ? last.String.sval : undefined
}
