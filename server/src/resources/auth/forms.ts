import type { PublicRoute } from '../../platform/http/route.ts'
import { type ApiError, invalidBody } from '../../platform/http/errors.ts'
import type { BodyShape } from '../../platform/resource/body.ts'
import type { AnyRow, Fields } from '../../platform/resource/define.ts'
import { email, flag, secretText, text } from '../../platform/resource/fields.ts'

/** What the bodies of these routes are made of. */
export const asks = {
  email: email({ label: 'Email', required: true }),
  password: secretText({ label: 'Password', required: true, max: 1000 }),
  newPassword: secretText({
    label: 'New password',
    description: '12 to 128 characters of any kind; the most common ones are refused',
    required: true,
    max: 1000,
  }),
  token: secretText({ label: 'Token', description: 'From the link, after the `=`', required: true }),
  personName: text({ label: 'Name', description: 'Of the person', required: true, max: 100 }),
  organization: text({ label: 'Organization', description: 'Its name', required: true, max: 100 }),
  cookie: flag({
    label: 'Cookie',
    description:
      'Put the refresh token into a cookie that no script can read, instead of the answer; for our own pages',
    nullable: false,
  }),
}

const shapeOf = (fields: Fields): BodyShape => ({ mode: 'create', readOnly: [], fields })

/** A body of these members. */
export const bodyOf = (component: string, fields: Fields) => ({ component, shape: shapeOf(fields), required: true })

/** A route that needs no credential, on the host of the authentication. */
export const authRoute = (
  route: Pick<PublicRoute, 'path' | 'operation' | 'summary' | 'description' | 'body' | 'answers' | 'errors' | 'handle'>,
): PublicRoute => ({
  kind: 'public',
  host: 'auth',
  method: 'POST',
  tag: 'authentication',
  params: {},
  query: { kind: 'none' },
  ...route,
})

/** Words of a body that were checked to be there. */
export const wordOf = (body: AnyRow, name: string): string => String(body[name] ?? '')

/** 422 for a link that does nothing any more. */
export const deadLink = (): ApiError =>
  invalidBody([{ field: 'token', message: 'was used already, or its time is over: ask for a new link' }])

/** What an answer says that only promises to do something, whoever asked. */
export const acceptedSchema = {
  type: 'object',
  required: ['status'],
  additionalProperties: false,
  properties: { status: { type: 'string', enum: ['accepted'] } },
}

export const accepted = { status: 202, text: JSON.stringify({ status: 'accepted' }) }
