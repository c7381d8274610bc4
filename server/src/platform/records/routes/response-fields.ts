import { recordTag } from '../../http/protocol/etag.ts'
import type { RouteResponse } from '../../http/route.ts'
import type { JsonObject } from '../../model/json.ts'
import type { WrittenRecord } from '../declare/changes.ts'
import type { Fields, Resource } from '../declare/define.ts'

export const withResponseFields = (resource: Resource, component: string, more: Fields): Resource => ({
  ...resource,
  component,
  fields: { ...resource.fields, ...more },
  propertyNames: [...resource.propertyNames, ...Object.keys(more)],
})

/** The record with these properties; the entity tag is that of the record alone. */
export const recordWithFields = (
  { text, revision }: Pick<WrittenRecord, 'text' | 'revision'>,
  values: Readonly<JsonObject>,
): Required<Pick<RouteResponse, 'text' | 'headers'>> => ({
  text: `${text.slice(0, -1)},${JSON.stringify(values).slice(1)}`,
  headers: { etag: recordTag(revision, text) },
})
