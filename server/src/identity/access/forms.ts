import type { BodyError } from '../../platform/model/errors.ts'
import type { PublicRoute } from '../../platform/http/route.ts'
import { bodyShapeOf } from '../../platform/records/request/body.ts'
import type { Fields } from '../../platform/records/declare/define.ts'
import { choice, flag, secretText, text } from '../../platform/records/declare/fields.ts'
import type { PasswordOwner } from './common-passwords.ts'
import { passwordError } from './passwords.ts'
import type { JsonObject } from '../../platform/model/json.ts'
import { firstLanguage, type Language, languages } from '../../platform/model/languages.ts'

/** Body fields shared by the routes for login and for new accounts. */
export const formFields = {
  newPassword: secretText({
    label: 'New password',
    description: '12 to 128 characters of any kind; common passwords are rejected',
    required: true,
    max: 1000,
  }),
  token: secretText({ label: 'Token', description: 'The part of the link after the `=`', required: true }),
  personName: text({ label: 'Name', description: 'The person’s name', required: true, max: 100 }),
  cookie: flag({
    label: 'Cookie',
    description: 'Return the refresh token in an HttpOnly cookie instead of the body; only for the service’s own pages',
    nullable: false,
  }),
  language: choice(languages, {
    label: 'Language',
    description: 'Language of the page: of mails to the person, until they choose another one',
    nullable: false,
  }),
}

/** A body with these fields. */
export const bodyOf = <F extends Fields>(component: string, fields: F) => ({
  component,
  shape: bodyShapeOf(fields),
  required: true,
})

/** The error of the new password in the body, if any; none if it is missing, which is an error of its own. */
export async function passwordErrors(body: JsonObject, owner: PasswordOwner): Promise<BodyError[]> {
  const password = stringOf(body, 'password')
  const message = password === '' ? undefined : await passwordError(password, owner)
  return message === undefined ? [] : [{ field: 'password', message }]
}

/** The language in the body. */
export const languageOf = ({ language }: JsonObject): Language | undefined => firstLanguage(String(language))

/** A text of the body, which has already been validated. */
export const stringOf = (body: JsonObject, name: string): string => String(body[name] ?? '')

/** A route without a credential, on the authentication host. */
export const authRoute = <Body>(
  route: Pick<
    PublicRoute<Body>,
    'path' | 'operation' | 'summary' | 'description' | 'body' | 'responses' | 'errors' | 'check' | 'handle'
  >,
): PublicRoute => {
  const complete: PublicRoute<Body> = {
    kind: 'public',
    host: 'auth',
    method: 'POST',
    tag: 'authentication',
    params: {},
    query: { kind: 'none' },
    ...route,
  }
  return complete as PublicRoute<never>
}
