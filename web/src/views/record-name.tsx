import { useQuery } from '@tanstack/react-query'
import { useTranslations } from 'use-intl'
import { type ResourceSchema, schemaQuery } from '../api/schema.ts'
import { resourceViews } from '../registry/resources.ts'
import { useReferenceTitle } from './reference-title.tsx'

/** A record's name as a link that preserves the page: when an error shows it, a form may be half filled in. */
export function RecordName({ id }: { id: string }) {
  const common = useTranslations('common')
  const { data: schema } = useQuery(schemaQuery)
  const resource = schema?.find(({ idPrefix }) => id.startsWith(`${idPrefix}_`))
  return resource ? <KnownName resource={resource} id={id} /> : common('otherRecord')
}

function KnownName({ resource, id }: { resource: ResourceSchema; id: string }) {
  const common = useTranslations('common')
  const title = useReferenceTitle(resource.name, id) ?? common('otherRecord')
  if (!resourceViews[resource.name]) return <strong>{title}</strong>
  return (
    <a href={`/${resource.name}/${id}`} target="_blank" rel="noreferrer">
      {title}
    </a>
  )
}
