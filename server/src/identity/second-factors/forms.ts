import { formFields } from '../access/forms.ts'
import { invalidBody } from '../../platform/model/errors.ts'
import type { ResponseBody } from '../../platform/http/route.ts'
import { secretText, text } from '../../platform/records/declare/fields.ts'
import { document } from '../../platform/records/declare/object-fields.ts'
import type { JsonObject, JsonValue } from '../../platform/model/json.ts'

const bytes = (maxLength: number) => ({
  type: 'string',
  minLength: 1,
  maxLength,
  pattern: '^[A-Za-z0-9_-]+$',
})

/** The result of `PublicKeyCredential.toJSON()` (Web Authentication, level 3); additional properties are allowed. */
const credentialSchema = (response: Record<string, unknown>, example: Record<string, JsonValue>) => ({
  type: 'object',
  examples: [
    { id: 'q83vEjRW', rawId: 'q83vEjRW', type: 'public-key', response: { clientDataJSON: 'e30', ...example } },
  ],
  required: ['id', 'rawId', 'type', 'response'],
  properties: {
    // A credential id has at most 1023 bytes.
    id: bytes(1364),
    rawId: bytes(1364),
    type: { type: 'string', enum: ['public-key'] },
    response: {
      type: 'object',
      required: ['clientDataJSON', ...Object.keys(example)],
      properties: { clientDataJSON: bytes(8192), ...response },
    },
  },
})

const code = secretText({
  label: 'Code',
  description: 'Six digits from the authenticator app',
  required: true,
  max: 50,
})

/** Body fields of these routes. */
export const requestFields = {
  pendingToken: secretText({ label: 'Pending token', description: 'From the first step of the login', required: true }),
  code: { ...code, schema: { ...code.schema, examples: ['492039'] } },
  recoveryCode: secretText({ label: 'Recovery code', required: true, max: 100 }),
  name: text({ label: 'Name', description: 'Name that identifies this passkey', required: true, max: 100 }),
  cookie: formFields.cookie,
  registration: document({
    label: 'Credential',
    description: 'Result of `navigator.credentials.create`, as JSON',
    required: true,
    schema: credentialSchema(
      {
        attestationObject: bytes(65_536),
        transports: { type: 'array', maxItems: 10, items: { type: 'string', maxLength: 30 } },
      },
      { attestationObject: 'o2Nm' },
    ),
  }),
  authentication: document({
    label: 'Credential',
    description: 'Result of `navigator.credentials.get`, as JSON',
    required: true,
    schema: credentialSchema(
      {
        authenticatorData: bytes(8192),
        signature: bytes(8192),
        userHandle: { type: ['string', 'null'], maxLength: 100 },
      },
      { authenticatorData: 'SZYN', signature: 'MEUC' },
    ),
  }),
}

/** The credential of a validated body. */
export const credentialOf = (body: JsonObject): JsonObject => body.credential as JsonObject

/** 422 for an invalid code. */
export const wrongCode = () => invalidBody([{ field: 'code', message: 'is wrong or was already used' }])

/** 422 for an invalid passkey response. */
export const wrongCredential = (message = 'is not a valid response of one of your passkeys to this request') =>
  invalidBody([{ field: 'credential', message }])

/** The argument of `navigator.credentials`, as the browser defines it. */
export const optionsResponse = (component: string): ResponseBody => ({
  kind: 'schema',
  component,
  schema: {
    type: 'object',
    required: ['challenge'],
    additionalProperties: true,
    properties: { challenge: { type: 'string' } },
  },
})
