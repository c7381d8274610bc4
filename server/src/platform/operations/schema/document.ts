import { columnOf, type Resource } from '../../records/declare/define.ts'
import { renderingsTable } from '../../records/declare/tables.ts'
import { isRendered } from '../../records/page/select.ts'
import { computedText } from '../../records/rendering/rendering.ts'
import type { Field } from '../../records/declare/field.ts'

/** Renders a record up to the properties that depend on others (decision 10), by concatenation: composing is slower. */
export interface DocumentFunction {
  name: string
  table: string
  /** The body, as `pg_proc.prosrc` has it. */
  body: string
  /** The version of the renderings that it makes. */
  version: number
}

export type ActualDocument = Pick<DocumentFunction, 'body' | 'version'>

/** The document function of a resource with stored renderings. `keywords` must be quoted as names. */
export function documentOf(resource: Resource, keywords: ReadonlySet<string>): DocumentFunction | undefined {
  const { singular, table, fields, renderingVersion: version } = resource
  if (version === undefined || resource.viewOf) return undefined
  const properties = Object.entries(fields)
    .filter(([name]) => isRendered(resource, name))
    .map(([name, field]) => {
      const column = (of: string) => `record.${quotedIf(keywords, columnOf(of))}`
      const { list } = field
      const value = list
        ? `' || ${list.sqlFunction}(${column(list.primary)}, ${column(name)})`
        : textOf(field, computedText(field) ?? column(name))
      return `    '"${name}":${value}`
    })
  const body = `\nbegin\n  return '{' ||\n${properties.join(` || ',' ||\n`)};\nend\n`
  return { name: `${singular}_document`, table, body, version }
}

const quotedIf = (keywords: ReadonlySet<string>, name: string): string => (keywords.has(name) ? `"${name}"` : name)

/** The rest of the literal that began with the name of the property, and its value as JSON text. */
function textOf({ databaseType, idPrefix, nullable }: Field, column: string): string {
  const quoted = (text: string, prefix = '') =>
    nullable ? `' || coalesce('"${prefix}' || ${text} || '"', 'null')` : `"${prefix}' || ${text} || '"'`
  const bare = (text: string) => `' || ${nullable ? `coalesce(${text}, 'null')` : text}`
  if (idPrefix !== undefined) return quoted(`replace(${column}::text, '-', '')`, `${idPrefix}_`)
  switch (databaseType) {
    case 'timestamptz':
      return quoted(`to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`)
    case 'numeric':
      return quoted(`${column}::text`)
    case 'date':
      return quoted(`to_char(${column}, 'YYYY-MM-DD')`)
    case 'text[]':
      return `' || case ${column} when '{}' then '[]' else array_to_json(${column})::text end`
    case 'boolean':
      return bare(`case when ${column} then 'true' else 'false' end`)
    case 'text':
      return bare(`to_json(${column})::text`)
    default:
      return bare(`${column}::text`)
  }
}

/** Replaces the function; what was rendered before is of another version, and is rendered again in the background. */
export const replaceDocument = ({ name, table, body, version }: DocumentFunction): string =>
  [
    `create or replace function ${name}(record ${table}) returns text language plpgsql immutable parallel safe as $$${body}$$;`,
    `comment on function ${name}(${table}) is 'version ${version}';`,
  ].join('\n')

/** Everything that a resource needs whose records are stored in rendered form from now on. */
export function createDocument(resource: Resource, document: DocumentFunction): string {
  const { name, table } = document
  const renderings = renderingsTable(resource)
  const owner = columnOf(`${resource.singular}Id`)
  return `${replaceDocument(document)}

-- The same by the key. A function, because a page would plan another read of the table for what it hardly ever needs.
create function ${name}(of_organization uuid, of_id uuid) returns text language plpgsql stable parallel safe as $$
begin
  return (select ${name}(record) from ${table} record
    where record.organization_id = of_organization and record.id = of_id);
end
$$;

create table ${renderings} (
  organization_id uuid not null,
  ${owner} uuid not null,
  version integer not null,
  source_xmin xid not null,
  source_ctid tid not null,
  document text not null,
  primary key (organization_id, ${owner})
) with (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.03, autovacuum_vacuum_insert_scale_factor = 0.1,
  autovacuum_analyze_scale_factor = 0.03);
-- Nobody searches these texts, so statistics of them would only cost time.
alter table ${renderings} alter column document set statistics 0;`
}
