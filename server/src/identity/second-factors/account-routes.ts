import { bodyOf, stringOf } from '../access/forms.ts'
import { lockOwnAccount } from '../access/account-store.ts'
import type { CrossTenantConnection } from '../../platform/database/database.ts'
import { ApiError } from '../../platform/model/errors.ts'
import type { AccountRoute, DetachedAccountRequest } from '../access/account-route.ts'
import type { RouteResponse } from '../../platform/http/route.ts'
import { encodeId } from '../../platform/model/ids.ts'
import { afterChange, type FactorChange, firstRecoveryCodes, newRecoveryCodes } from './changes.ts'
import { requestFields, credentialOf, optionsResponse, wrongCode, wrongCredential } from './forms.ts'
import { register, registrationOptions } from './passkeys.ts'
import {
  countRecoveryCodes,
  findFactorKinds,
  findPasskeys,
  findTotp,
  type Passkey,
  removePasskey,
  removeTotp,
  renamePasskey,
} from './store.ts'
import { beginEnrolment, consumeCode } from './totp.ts'

const time = { type: 'string', format: 'date-time' }
const nullableTime = { type: ['string', 'null'], format: 'date-time' }

const objectOf = (properties: Record<string, unknown>) => ({
  type: 'object',
  required: Object.keys(properties),
  additionalProperties: false,
  properties,
})

const passkeySchema = objectOf({
  id: { type: 'string', pattern: '^psk_[0-9a-f]{32}$' },
  name: { type: 'string' },
  isSynced: { type: 'boolean', description: 'Whether its provider synchronizes it across devices' },
  lastUsedAt: nullableTime,
  createdAt: time,
})

const factorsSchema = objectOf({
  totp: { oneOf: [{ type: 'null' }, objectOf({ createdAt: time, lastUsedAt: nullableTime })] },
  passkeys: { type: 'array', items: passkeySchema },
  recoveryCodes: objectOf({ remaining: { type: 'integer' } }),
})

const codesSchema = { type: 'array', items: { type: 'string' }, description: 'Ten codes, shown only once' }
const firstCodesSchema = {
  oneOf: [{ type: 'null' }, codesSchema],
  description: 'Created with the first factor and shown only once; null if there are already recovery codes',
}

/** More than anybody needs. */
const maxPasskeys = 20

const routeBase = { kind: 'account', tag: 'account', params: {}, query: { kind: 'none' } } as const
const params = { passkeyId: { prefix: 'psk', resource: 'passkey' } }

const passkeyResponse = ({ id, name, isSynced, lastUsedAt, createdAt }: Passkey) => ({
  id: encodeId('psk', id),
  name,
  isSynced,
  lastUsedAt,
  createdAt,
})

/** Changes the factors in a transaction with its audit event, and sends the mail about it. */
async function changeFactors(
  request: DetachedAccountRequest,
  change: FactorChange,
  work: (db: CrossTenantConnection) => Promise<RouteResponse>,
): Promise<RouteResponse> {
  const response = await request.transact(async (db) => {
    // Locks the person, so that changes of their factors run one after another.
    await lockOwnAccount(db, request.person.userId)
    const result = await work(db)
    await afterChange(db, { ...request, change })
    return result
  })
  request.services.mail.wake()
  return response
}

const notFound = (what: string) => new ApiError('not_found', `You have no ${what}.`)

const listRoute: AccountRoute = {
  ...routeBase,
  method: 'GET',
  path: '/v5/me/second-factors',
  operation: 'getSecondFactors',
  summary: 'Get your second factors',
  responses: { 200: { kind: 'schema', component: 'SecondFactors', schema: factorsSchema } },
  async handle({ db, person: { userId } }) {
    const totp = await findTotp(db, userId)
    const factors = {
      totp: totp?.confirmedAt ? { createdAt: totp.confirmedAt, lastUsedAt: totp.lastUsedAt } : null,
      passkeys: (await findPasskeys(db, userId)).map(passkeyResponse),
      recoveryCodes: { remaining: await countRecoveryCodes(db, userId) },
    }
    return { status: 200, text: JSON.stringify(factors) }
  },
}

const beginTotpRoute: AccountRoute = {
  ...routeBase,
  method: 'POST',
  path: '/v5/me/totp',
  operation: 'beginTotp',
  summary: 'Start setting up an authenticator app',
  description: 'Show `uri` as a QR code, or `secret` as text. The app becomes active when a first code confirms it.',
  requiresRecentAuthentication: true,
  responses: {
    200: {
      kind: 'schema',
      component: 'TotpEnrolment',
      schema: objectOf({
        secret: { type: 'string', description: 'Base 32' },
        uri: { type: 'string', description: '`otpauth://totp/…`' },
      }),
    },
  },
  errors: [423],
  async handle({ services, db, person }) {
    const { id, email } = await lockOwnAccount(db, person.userId)
    const enrolment = await beginEnrolment(db, services.secret, { userId: id, email })
    if (!enrolment)
      throw new ApiError(
        'resource_locked',
        'You already have an authenticator app. Remove it before you set up another one.',
      )
    return { status: 200, text: JSON.stringify(enrolment) }
  },
}

const confirmTotpRoute: AccountRoute = {
  ...routeBase,
  method: 'POST',
  path: '/v5/me/totp/confirm',
  operation: 'confirmTotp',
  summary: 'Confirm the authenticator app with a first code',
  description: 'From now on, each login requires it. It immediately counts as a second factor in this session.',
  requiresRecentAuthentication: true,
  body: bodyOf('TotpConfirmation', { code: requestFields.code }),
  responses: {
    200: { kind: 'schema', component: 'TotpConfirmed', schema: objectOf({ recoveryCodes: firstCodesSchema }) },
  },
  handleOutsideTransaction: (request) =>
    changeFactors(request, { action: 'factor.added', factor: 'totp', what: 'second-factor-added' }, async (db) => {
      const { userId } = request.person
      const code = stringOf(request.body, 'code')
      if (!(await consumeCode(db, request.services.secret, { userId, code, isNew: true }))) throw wrongCode()
      return { status: 200, text: JSON.stringify({ recoveryCodes: await firstRecoveryCodes(db, userId) }) }
    }),
}

const removeTotpRoute: AccountRoute = {
  ...routeBase,
  method: 'DELETE',
  path: '/v5/me/totp',
  operation: 'removeTotp',
  summary: 'Remove the authenticator app',
  description: 'Removing the last factor also deletes the recovery codes.',
  requiresRecentAuthentication: true,
  responses: { 204: { kind: 'none' } },
  errors: [404],
  handleOutsideTransaction: (request) =>
    changeFactors(request, { action: 'factor.removed', factor: 'totp', what: 'second-factor-removed' }, async (db) => {
      if (!(await removeTotp(db, request.person.userId))) throw notFound('authenticator app')
      return { status: 204 }
    }),
}

const recoveryCodesRoute: AccountRoute = {
  ...routeBase,
  method: 'POST',
  path: '/v5/me/recovery-codes',
  operation: 'makeRecoveryCodes',
  summary: 'Create ten new recovery codes',
  description: 'The previous codes stop working. Each code replaces another second factor for one login.',
  requiresRecentAuthentication: true,
  responses: {
    200: { kind: 'schema', component: 'RecoveryCodes', schema: objectOf({ recoveryCodes: codesSchema }) },
  },
  errors: [423],
  handleOutsideTransaction: (request) =>
    changeFactors(
      request,
      { action: 'recovery-codes.created', factor: 'recovery-code', what: 'recovery-codes-made' },
      async (db) => {
        const { userId } = request.person
        if ((await findFactorKinds(db, userId)).every((kind) => kind === 'recovery-code')) {
          throw new ApiError('resource_locked', 'Recovery codes replace a second factor. Set one up first.')
        }
        return { status: 200, text: JSON.stringify({ recoveryCodes: await newRecoveryCodes(db, userId) }) }
      },
    ),
}

const passkeyOptionsRoute: AccountRoute = {
  ...routeBase,
  method: 'POST',
  path: '/v5/me/passkeys/options',
  operation: 'getPasskeyOptions',
  summary: 'Get the options to create a passkey',
  description: 'For `navigator.credentials.create`, within five minutes.',
  requiresRecentAuthentication: true,
  responses: { 200: optionsResponse('PasskeyCreationOptions') },
  async handle(request) {
    const { db, person } = request
    const user = await lockOwnAccount(db, request.person.userId)
    const options = await registrationOptions(request, db, { sessionId: person.sessionId, user })
    return { status: 200, text: JSON.stringify(options) }
  },
}

const addPasskeyRoute: AccountRoute = {
  ...routeBase,
  method: 'POST',
  path: '/v5/me/passkeys',
  operation: 'addPasskey',
  summary: 'Add a passkey',
  description: 'It can log in on its own, and immediately counts as a second factor in this session.',
  requiresRecentAuthentication: true,
  body: bodyOf('NewPasskey', { name: requestFields.name, credential: requestFields.registration }),
  responses: {
    201: {
      kind: 'schema',
      component: 'AddedPasskey',
      schema: objectOf({ passkey: passkeySchema, recoveryCodes: firstCodesSchema }),
    },
  },
  errors: [423],
  handleOutsideTransaction: (request) =>
    changeFactors(request, { action: 'factor.added', factor: 'passkey', what: 'passkey-added' }, async (db) => {
      const { person, body } = request
      if ((await findPasskeys(db, person.userId)).length >= maxPasskeys) {
        throw new ApiError(
          'resource_locked',
          `You already have ${maxPasskeys} passkeys. Remove one before you add another.`,
        )
      }
      const name = stringOf(body, 'name')
      const result = await register(request, db, { ...person, name, credential: credentialOf(body) })
      if ('error' in result) throw wrongCredential(result.error)
      const recoveryCodes = await firstRecoveryCodes(db, person.userId)
      const passkey = (await findPasskeys(db, person.userId)).find(({ id }) => id === result.id)
      return { status: 201, text: JSON.stringify({ passkey: passkey && passkeyResponse(passkey), recoveryCodes }) }
    }),
}

const renamePasskeyRoute: AccountRoute = {
  ...routeBase,
  method: 'PATCH',
  path: '/v5/me/passkeys/{passkeyId}',
  operation: 'renamePasskey',
  summary: 'Rename a passkey',
  params,
  requiresRecentAuthentication: true,
  body: bodyOf('PasskeyChange', { name: requestFields.name }),
  responses: { 204: { kind: 'none' } },
  errors: [404],
  async handle({ db, person: { userId }, params: { passkeyId = '' }, body }) {
    if (!(await renamePasskey(db, { userId, id: passkeyId, name: stringOf(body, 'name') })))
      throw notFound('such passkey')
    return { status: 204 }
  },
}

const removePasskeyRoute: AccountRoute = {
  ...routeBase,
  method: 'DELETE',
  path: '/v5/me/passkeys/{passkeyId}',
  operation: 'removePasskey',
  summary: 'Remove a passkey',
  description: 'Removing the last factor also deletes the recovery codes.',
  params,
  requiresRecentAuthentication: true,
  responses: { 204: { kind: 'none' } },
  errors: [404],
  handleOutsideTransaction: (request) =>
    changeFactors(request, { action: 'factor.removed', factor: 'passkey', what: 'passkey-removed' }, async (db) => {
      const { person, params: given } = request
      if (!(await removePasskey(db, person.userId, given.passkeyId ?? ''))) throw notFound('such passkey')
      return { status: 204 }
    }),
}

/** A person's own second factors. */
export const factorRoutes: AccountRoute[] = [
  listRoute,
  beginTotpRoute,
  confirmTotpRoute,
  removeTotpRoute,
  recoveryCodesRoute,
  passkeyOptionsRoute,
  addPasskeyRoute,
  renamePasskeyRoute,
  removePasskeyRoute,
]
