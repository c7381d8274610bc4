import { formFields } from '../../platform/access/forms.ts'
import { type ApiError, invalidBody } from '../../platform/http/errors.ts'
import { email, secretText, text } from '../../platform/resource/fields.ts'

/** What the bodies of these routes are made of. */
export const asks = {
  ...formFields,
  email: email({ label: 'Email', required: true }),
  password: secretText({ label: 'Password', required: true, max: 1000 }),
  organization: text({ label: 'Organization', description: 'Its name', required: true, max: 100 }),
}

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
