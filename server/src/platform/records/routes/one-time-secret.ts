import type { RouteResponse } from '../../http/route.ts'
import type { BodyShape } from '../request/body.ts'
import type { Fields, Resource } from '../declare/define.ts'
import { integer } from '../declare/fields.ts'
import type { WrittenRecord } from '../declare/changes.ts'
import type { JsonObject } from '../../model/json.ts'
import { recordWithFields, withResponseFields } from './response-fields.ts'

// A secret appears only in the response that creates it, next to the record. If it is lost, it has to be rotated.

export const withSecretFields = (resource: Resource, component: string, more: Fields): Resource =>
  withResponseFields(resource, component, more)

export const recordWithSecret = (
  record: WrittenRecord,
  secretValues: Readonly<Record<string, string | null>>,
): Required<Pick<RouteResponse, 'text' | 'headers'>> => recordWithFields(record, secretValues)

/** Seconds in a day: enough to deploy the new secret wherever the old one is used. */
const defaultOverlap = 86_400

/** The body of a rotation, over HTTP and on the command line; `secrets` names what is replaced, such as "URLs". */
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

export const overlapOf = ({ overlapSeconds }: JsonObject): number => Number(overlapSeconds ?? defaultOverlap)
