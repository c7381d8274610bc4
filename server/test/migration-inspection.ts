import { loadModule, parseSync } from 'libpg-query'

await loadModule()

/**
 * What a migration does that may fail or delay requests of processes of the previous release, which run on its schema
 * during an upgrade. What a migration creates itself, it can also change. Everything that is not known to be harmless is
 * reported.
 */
export function contractionsIn(text: string): string[] {
  const { stmts = [] } = parseSync(text) as { stmts?: { stmt: Node }[] }
  const created = new Set<string>()
  const found = stmts.flatMap(({ stmt }) =>
    Object.entries(stmt).flatMap(([kind, statement]) => contractionsOf(kind, statement as Node, created)),
  )
  return [...new Set(found)]
}

type Node = Record<string, unknown>
/** A kind of statement, and what is wrong with it; `created` contains the names that the migration has created. */
type Inspect = (statement: Node, created: Set<string>) => string[]

const contractionsOf = (kind: string, statement: Node, created: Set<string>): string[] =>
  inspections[kind]?.(statement, created) ?? [`is not known to be harmless: ${kind}`]

const harmless: Inspect = () => []

const inspections: Readonly<Record<string, Inspect>> = {
  CreateStmt: ({ relation }, created) => creates(nameIn(relation), created),
  CreateSeqStmt: ({ sequence }, created) => creates(nameIn(sequence), created),
  CompositeTypeStmt: ({ typevar }, created) => creates(nameIn(typevar), created),
  CreateEnumStmt: ({ typeName }, created) => creates(lastName(typeName), created),
  CreateExtensionStmt: harmless,
  CommentStmt: harmless,
  VariableSetStmt: harmless,
  // Lets processes of the previous release do what the code now does itself.
  CreateTrigStmt: ({ relation }, created) => creates(writersOf(nameIn(relation)), created),
  LockStmt: inspectLock,
  CreateFunctionStmt: ({ funcname, replace }, created) =>
    replace === true ? [`replaces function ${lastName(funcname)}`] : creates(lastName(funcname), created),
  ViewStmt: ({ view, replace }, created) =>
    replace === true ? [`replaces view ${nameIn(view)}`] : creates(nameIn(view), created),
  IndexStmt: inspectIndex,
  AlterTableStmt: ({ relation, cmds }, created) =>
    created.has(nameIn(relation))
      ? []
      : nodesOf(cmds).flatMap(({ AlterTableCmd }) => inspectChange(nameIn(relation), AlterTableCmd as Node)),
  DropStmt: inspectDrop,
  RenameStmt: ({ relation, subname, newname }, created) =>
    created.has(nameIn(relation)) ? [] : [`renames ${nameIn(relation)} ${subname ?? ''} to ${newname}`],
  InsertStmt: inspectInsert,
  UpdateStmt: changesRows,
  DeleteStmt: changesRows,
}

function creates(name: string, created: Set<string>): string[] {
  created.add(name)
  return []
}

function inspectIndex({ relation, idxname, concurrent, unique }: Node, created: Set<string>): string[] {
  const table = nameIn(relation)
  created.add(String(idxname))
  if (created.has(table)) return []
  return [
    ...(concurrent === true ? [] : [`blocks writes of ${table} while it builds ${idxname}`]),
    ...(unique === true ? [`may refuse rows of ${table}: unique index ${idxname}`] : []),
  ]
}

/** What an interrupted run of the same migration has left (migrate.ts) may be dropped, but nothing else. */
function inspectDrop({ removeType, objects, concurrent, missing_ok }: Node, created: Set<string>): string[] {
  const isRepeatable = removeType === 'OBJECT_INDEX' && concurrent === true && missing_ok === true
  return nodesOf(objects)
    .map(droppedName)
    .filter((name) => !created.has(name) && !isRepeatable)
    .map((name) => `drops ${name}`)
}

const droppedName = ({ List, ObjectWithArgs, TypeName }: Node): string =>
  nodesOf((List as Node)?.items ?? (ObjectWithArgs as Node)?.objname ?? (TypeName as Node)?.names)
    .map(({ String: text }) => String((text as Node).sval))
    .join('.')

function changesRows({ relation }: Node, created: Set<string>): string[] {
  const table = nameIn(relation)
  return created.has(table) ? [] : [`changes rows of ${table} in one transaction`]
}

/** A name in `created` for: from here on, no transaction that writes the table is older than this statement. */
const writersOf = (table: string): string => `writers of ${table}`

/** Readers can go on, and writers wait: until the end of a migration, which must be short. */
function inspectLock({ relations, mode }: Node, created: Set<string>): string[] {
  const tables = nodesOf(relations).map(({ RangeVar }) => nameIn(RangeVar))
  for (const table of tables) creates(writersOf(table), created)
  return mode === shareMode ? [] : [`locks ${tables.join(', ')} against readers`]
}

/** ShareLock (PostgreSQL, lockdefs.h). */
const shareMode = 5

/** A copy misses what others are writing, unless they are waited for first, as `create trigger` and `lock table` do. */
function inspectInsert(statement: Node, created: Set<string>): string[] {
  const { SelectStmt: select } = (statement.selectStmt ?? {}) as { SelectStmt?: Node }
  const missed = nodesOf(select?.fromClause)
    .map(({ RangeVar }) => RangeVar as Node | undefined)
    .filter((source) => source !== undefined)
    .map(nameIn)
    .filter((table) => !created.has(table) && !created.has(writersOf(table)))
  return [
    ...changesRows(statement, created),
    ...missed.map((table) => `copies ${table} before a trigger on it, or a lock in share mode`),
  ]
}

/** Changes that only read the table, or only its entry in the catalog. */
const harmlessChanges = ['AT_ValidateConstraint', 'AT_DropNotNull', 'AT_SetStatistics', 'AT_SetRelOptions']

function inspectChange(table: string, { subtype, name, def }: Node): string[] {
  const { ColumnDef: column, Constraint: constraint } = (def ?? {}) as { ColumnDef?: Node; Constraint?: Node }
  if (subtype === 'AT_AddColumn' && column) return inspectColumn(table, column)
  if (subtype === 'AT_ColumnDefault' && def !== undefined) return []
  if (subtype === 'AT_DropConstraint') return [`drops constraint ${name}`]
  if (subtype === 'AT_AddConstraint' && constraint)
    return [`may refuse rows of ${table}: constraint ${constraint.conname ?? constraint.contype}`]
  if (harmlessChanges.includes(String(subtype))) return []
  return [`changes ${table}: ${subtype} ${name ?? ''}`.trim()]
}

function inspectColumn(table: string, { colname, constraints }: Node): string[] {
  const kinds = nodesOf(constraints).map(({ Constraint }) => (Constraint as Node).contype)
  // As part of the column, Citus refuses it (sendDistributed sends each statement to it).
  const constraint = kinds.find((kind) => ['CONSTR_CHECK', 'CONSTR_UNIQUE', 'CONSTR_FOREIGN'].includes(String(kind)))
  if (constraint !== undefined) return [`adds ${colname} to ${table} with ${constraint}, not in a statement of its own`]
  const isFilled = kinds.some((kind) => kind === 'CONSTR_DEFAULT' || kind === 'CONSTR_GENERATED')
  return kinds.includes('CONSTR_NOTNULL') && !isFilled
    ? [`may refuse rows of ${table}: ${colname} is required and has no default`]
    : []
}

const nodesOf = (list: unknown): Node[] => (Array.isArray(list) ? (list as Node[]) : [])

const nameIn = (relation: unknown): string => String((relation as Node | undefined)?.relname)

function lastName(names: unknown): string {
  const text = nodesOf(names).at(-1)?.String as Node | undefined
  return String(text?.sval)
}
