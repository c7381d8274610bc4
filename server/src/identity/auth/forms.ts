import { formFields, languageOf, stringOf } from '../access/forms.ts'
import { type OneTimePurpose, readOneTimeToken, type OneTimeToken } from '../access/one-time-token-store.ts'
import { type ApiError, type BodyError, invalidBody } from '../../platform/model/errors.ts'
import type { PublicRequest } from '../../platform/http/route.ts'
import type { JsonObject } from '../../platform/model/json.ts'
import type { PageFacts } from '../mails/store.ts'
import { email, secretText, text, timeZone } from '../../platform/records/declare/fields.ts'

/** Body fields of these routes. */
export const requestFields = {
  ...formFields,
  email: email({ label: 'Email', required: true }),
  password: secretText({ label: 'Password', required: true, max: 1000 }),
  organization: text({ label: 'Organization', description: 'Name of the organization', required: true, max: 100 }),
  organizationZone: timeZone({
    label: 'Time zone',
    description: 'IANA name of the organization’s time zone, such as that of the person’s browser. Default: `UTC`',
  }),
}

const deadLinkError = { field: 'token', message: 'was already used or has expired; request a new link' }

/** 422 for a link that was used or has expired. */
export const deadLink = (): ApiError => invalidBody([deadLinkError])

/** The contents of the link in the body, or its error; neither if the link is missing. */
export async function readLink(
  { services, body }: PublicRequest,
  purpose: OneTimePurpose,
): Promise<{ link: OneTimeToken | undefined; errors: BodyError[] }> {
  const token = stringOf(body, 'token')
  if (token === '') return { link: undefined, errors: [] }
  const link = await services.database.crossTenantTransaction('log in', (db) => readOneTimeToken(db, purpose, token))
  return { link, errors: link ? [] : [deadLinkError] }
}

/** The facts of a mail that was requested with this body. */
export function pageFacts(body: JsonObject): { facts?: PageFacts } {
  const language = languageOf(body)
  return language === undefined ? {} : { facts: { language } }
}

/** The response of a request that is carried out later; the same whether the address has an account or not. */
export const acceptedSchema = {
  type: 'object',
  required: ['status'],
  additionalProperties: false,
  properties: { status: { type: 'string', enum: ['accepted'] } },
}

export const accepted = { status: 202, text: JSON.stringify({ status: 'accepted' }) }
