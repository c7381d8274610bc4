import type { PublicRoute } from '../http/route.ts'
import type { BodyShape } from '../resource/body.ts'
import type { AnyRow, Fields } from '../resource/define.ts'
import { flag, secretText, text } from '../resource/fields.ts'

/** What the bodies of routes are made of that log people in, or let new ones in. */
export const formFields = {
  newPassword: secretText({
    label: 'New password',
    description: '12 to 128 characters of any kind; the most common ones are refused',
    required: true,
    max: 1000,
  }),
  token: secretText({ label: 'Token', description: 'From the link, after the `=`', required: true }),
  personName: text({ label: 'Name', description: 'Of the person', required: true, max: 100 }),
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

/** Words of a body that were checked to be there. */
export const wordOf = (body: AnyRow, name: string): string => String(body[name] ?? '')

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
