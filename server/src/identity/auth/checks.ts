import { authRoute, bodyOf, stringOf } from '../access/forms.ts'
import { passwordError } from '../access/passwords.ts'
import type { PublicRoute } from '../../platform/http/route.ts'
import { choice, email, stringList } from '../../platform/records/declare/fields.ts'
import { requestFields, deadLink, readLink } from './forms.ts'

const nullableText = { type: ['string', 'null'] }

const purposes = ['set-up', 'sign-up', 'verify-address', 'reset-password'] as const

/** Lets a form report a dead link when it is opened, not after it was filled in. */
const checkLinkRoute = authRoute({
  path: '/auth/links/check',
  operation: 'checkLink',
  summary: 'Check a one-time link',
  description:
    'Returns whether the link still works, and for which address. Does not use it up. 422 if it does not work.',
  body: bodyOf('LinkCheck', {
    purpose: choice(purposes, {
      label: 'Purpose',
      description: 'The part of the link between `#` and `=`',
      required: true,
    }),
    token: requestFields.token,
  }),
  responses: {
    200: {
      kind: 'schema',
      component: 'CheckedLink',
      schema: {
        type: 'object',
        required: ['email'],
        additionalProperties: false,
        properties: { email: { ...nullableText, description: 'Null for the set-up link' } },
      },
    },
  },
  async handle(request) {
    const purpose = purposes.find((one) => one === request.body.purpose)
    const { link } = purpose ? await readLink(request, purpose) : {}
    if (!link) throw deadLink()
    return { status: 200, text: JSON.stringify({ email: link.email }) }
  },
})

/** Lets a form report a weak password before the rest is filled in. */
const checkPasswordRoute = authRoute({
  path: '/auth/passwords/check',
  operation: 'checkPassword',
  summary: 'Check a new password',
  description: 'Returns what is wrong with a proposed password. Nothing is stored.',
  body: bodyOf('PasswordCheck', {
    password: requestFields.password,
    email: email({ label: 'Email', description: 'The person’s email address' }),
    names: stringList({ label: 'Names', description: 'Names of the person and the organization', count: 5, max: 100 }),
  }),
  responses: {
    200: {
      kind: 'schema',
      component: 'CheckedPassword',
      schema: {
        type: 'object',
        required: ['fault'],
        additionalProperties: false,
        properties: {
          fault: { ...nullableText, description: 'What is wrong and what to do; null if the password is acceptable' },
        },
      },
    },
  },
  async handle({ body }) {
    const names = Array.isArray(body.names) ? body.names.map(String) : []
    const error = await passwordError(stringOf(body, 'password'), {
      email: stringOf(body, 'email') || undefined,
      names,
    })
    return { status: 200, text: JSON.stringify({ fault: error ?? null }) }
  },
})

export const checkRoutes: PublicRoute[] = [checkLinkRoute, checkPasswordRoute]
