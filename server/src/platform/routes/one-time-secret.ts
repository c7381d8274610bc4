import { recordTag } from '../http/etag.ts'
import type { RouteResponse } from '../http/route.ts'
import type { BodyShape } from '../resource/body.ts'
import type { Fields, Resource } from '../model/define.ts'
import { integer, type JsonObject } from '../model/fields.ts'
import type { WrittenRecord } from '../resource/write.ts'

// A secret is in the one answer that gives it, beside the record; whoever loses it rotates it.

/** The resource as it is answered with a secret: with members that no other answer has. */
export const withSecretFields = (resource: Resource, component: string, more: Fields): Resource => ({
  ...resource,
  component,
  fields: { ...resource.fields, ...more },
  propertyNames: [...resource.propertyNames, ...Object.keys(more)],
})

/** The record and what is shown beside it this once; the entity tag is the record's own. */
export const recordWithSecret = (
  { text, revision }: WrittenRecord,
  secretValues: Readonly<Record<string, string | null>>,
): Required<Pick<RouteResponse, 'text' | 'headers'>> => ({
  text: `${text.slice(0, -1)},${JSON.stringify(secretValues).slice(1)}`,
  headers: { etag: recordTag(revision, text) },
})

/** Seconds in a day: time enough to bring the new secret to where the one before is used. */
const defaultOverlap = 86_400

/** What a rotation is asked for with, over HTTP and on the command line; `secrets` names what it replaces: "URLs". */
export const rotationBody = (secrets: string): BodyShape => ({
  fields: {
    overlapSeconds: integer({
      label: 'Overlap',
      description: `Seconds for which previous ${secrets} stay valid, at most; 0 revokes them immediately`,
      nullable: false,
      min: 0,
      max: 30 * 86_400,
      initial: defaultOverlap,
    }),
  },
  readOnly: [],
  mode: 'create',
})

/** The overlap of a body that was read by this shape. */
export const overlapOf = ({ overlapSeconds }: JsonObject): number => Number(overlapSeconds ?? defaultOverlap)
