import { bodyOf, wordOf } from '../access/forms.ts'
import { ownAccount } from '../access/account-store.ts'
import type { Spanning } from '../../platform/database/database.ts'
import { ApiError } from '../../platform/model/errors.ts'
import type { AccountRoute, AccountWork } from '../access/account-route.ts'
import type { Answer } from '../../platform/http/route.ts'
import { showId } from '../../platform/model/ids.ts'
import { afterChange, type FactorChange, firstRecoveryCodes, newRecoveryCodes } from './changes.ts'
import { asks, credentialOf, optionsAnswer, wrongCode, wrongCredential } from './forms.ts'
import { register, registrationOptions } from './passkeys.ts'
import {
  countRecoveryCodes,
  findKinds,
  findPasskeys,
  findTotp,
  type Passkey,
  removePasskey,
  removeTotp,
  renamePasskey,
} from './store.ts'
import { beginEnrolment, takeCode } from './totp.ts'

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

/** More than a person has authenticators. */
const mostPasskeys = 20

const common = { kind: 'account', tag: 'account', params: {}, query: { kind: 'none' } } as const
const params = { passkeyId: { prefix: 'psk', resource: 'passkey' } }

const shown = ({ id, name, isSynced, lastUsedAt, createdAt }: Passkey) => ({
  id: showId('psk', id),
  name,
  isSynced,
  lastUsedAt,
  createdAt,
})

/** Changes the factors in a transaction, tells of it, and sends the mail about it. */
async function changed(
  request: AccountWork,
  change: FactorChange,
  work: (db: Spanning) => Promise<Answer>,
): Promise<Answer> {
  const answer = await request.transact(async (db) => {
    // Locked: a person's factors change one after another.
    await ownAccount(db, request.person.userId)
    const made = await work(db)
    await afterChange(db, { ...request, change })
    return made
  })
  request.services.mail.wake()
  return answer
}

const notFound = (what: string) => new ApiError('not_found', `You have no ${what}.`)

const listRoute: AccountRoute = {
  ...common,
  method: 'GET',
  path: '/v5/me/second-factors',
  operation: 'getSecondFactors',
  summary: 'Get your second factors',
  answers: { 200: { kind: 'schema', component: 'SecondFactors', schema: factorsSchema } },
  async handle({ db, person: { userId } }) {
    const totp = await findTotp(db, userId)
    const factors = {
      totp: totp?.confirmedAt ? { createdAt: totp.confirmedAt, lastUsedAt: totp.lastUsedAt } : null,
      passkeys: (await findPasskeys(db, userId)).map(shown),
      recoveryCodes: { remaining: await countRecoveryCodes(db, userId) },
    }
    return { status: 200, text: JSON.stringify(factors) }
  },
}

const beginTotpRoute: AccountRoute = {
  ...common,
  method: 'POST',
  path: '/v5/me/totp',
  operation: 'beginTotp',
  summary: 'Start setting up an authenticator app',
  description: 'Show `uri` as a QR code, or `secret` as text. The app becomes active when a first code confirms it.',
  fresh: true,
  answers: {
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
    const { id, email } = await ownAccount(db, person.userId)
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
  ...common,
  method: 'POST',
  path: '/v5/me/totp/confirm',
  operation: 'confirmTotp',
  summary: 'Confirm the authenticator app with a first code',
  description: 'From now on, each login requires it. It immediately counts as a second factor in this session.',
  fresh: true,
  body: bodyOf('TotpConfirmation', { code: asks.code }),
  answers: {
    200: { kind: 'schema', component: 'TotpConfirmed', schema: objectOf({ recoveryCodes: firstCodesSchema }) },
  },
  outside: (request) =>
    changed(request, { action: 'factor.added', factor: 'totp', what: 'second-factor-added' }, async (db) => {
      const { userId } = request.person
      const code = wordOf(request.body, 'code')
      if (!(await takeCode(db, request.services.secret, { userId, code, isNew: true }))) throw wrongCode()
      return { status: 200, text: JSON.stringify({ recoveryCodes: await firstRecoveryCodes(db, userId) }) }
    }),
}

const removeTotpRoute: AccountRoute = {
  ...common,
  method: 'DELETE',
  path: '/v5/me/totp',
  operation: 'removeTotp',
  summary: 'Remove the authenticator app',
  description: 'Removing the last factor also deletes the recovery codes.',
  fresh: true,
  answers: { 204: { kind: 'none' } },
  errors: [404],
  outside: (request) =>
    changed(request, { action: 'factor.removed', factor: 'totp', what: 'second-factor-removed' }, async (db) => {
      if (!(await removeTotp(db, request.person.userId))) throw notFound('authenticator app')
      return { status: 204 }
    }),
}

const recoveryCodesRoute: AccountRoute = {
  ...common,
  method: 'POST',
  path: '/v5/me/recovery-codes',
  operation: 'makeRecoveryCodes',
  summary: 'Create ten new recovery codes',
  description: 'The previous codes stop working. Each code replaces another second factor for one login.',
  fresh: true,
  answers: {
    200: { kind: 'schema', component: 'RecoveryCodes', schema: objectOf({ recoveryCodes: codesSchema }) },
  },
  errors: [423],
  outside: (request) =>
    changed(
      request,
      { action: 'recovery-codes.created', factor: 'recovery-code', what: 'recovery-codes-made' },
      async (db) => {
        const { userId } = request.person
        if ((await findKinds(db, userId)).every((kind) => kind === 'recovery-code')) {
          throw new ApiError('resource_locked', 'Recovery codes replace a second factor. Set one up first.')
        }
        return { status: 200, text: JSON.stringify({ recoveryCodes: await newRecoveryCodes(db, userId) }) }
      },
    ),
}

const passkeyOptionsRoute: AccountRoute = {
  ...common,
  method: 'POST',
  path: '/v5/me/passkeys/options',
  operation: 'getPasskeyOptions',
  summary: 'Get the options to create a passkey',
  description: 'For `navigator.credentials.create`, within five minutes.',
  fresh: true,
  answers: { 200: optionsAnswer('PasskeyCreationOptions') },
  async handle(request) {
    const { db, person } = request
    const user = await ownAccount(db, request.person.userId)
    const options = await registrationOptions(request, db, { sessionId: person.sessionId, user })
    return { status: 200, text: JSON.stringify(options) }
  },
}

const addPasskeyRoute: AccountRoute = {
  ...common,
  method: 'POST',
  path: '/v5/me/passkeys',
  operation: 'addPasskey',
  summary: 'Add a passkey',
  description: 'It can log in on its own, and immediately counts as a second factor in this session.',
  fresh: true,
  body: bodyOf('NewPasskey', { name: asks.name, credential: asks.registration }),
  answers: {
    201: {
      kind: 'schema',
      component: 'AddedPasskey',
      schema: objectOf({ passkey: passkeySchema, recoveryCodes: firstCodesSchema }),
    },
  },
  errors: [423],
  outside: (request) =>
    changed(request, { action: 'factor.added', factor: 'passkey', what: 'passkey-added' }, async (db) => {
      const { person, body } = request
      if ((await findPasskeys(db, person.userId)).length >= mostPasskeys) {
        throw new ApiError(
          'resource_locked',
          `You already have ${mostPasskeys} passkeys. Remove one before you add another.`,
        )
      }
      const name = wordOf(body, 'name')
      const made = await register(request, db, { ...person, name, credential: credentialOf(body) })
      if ('fault' in made) throw wrongCredential(made.fault)
      const recoveryCodes = await firstRecoveryCodes(db, person.userId)
      const passkey = (await findPasskeys(db, person.userId)).find(({ id }) => id === made.id)
      return { status: 201, text: JSON.stringify({ passkey: passkey && shown(passkey), recoveryCodes }) }
    }),
}

const renamePasskeyRoute: AccountRoute = {
  ...common,
  method: 'PATCH',
  path: '/v5/me/passkeys/{passkeyId}',
  operation: 'renamePasskey',
  summary: 'Rename a passkey',
  params,
  fresh: true,
  body: bodyOf('PasskeyChange', { name: asks.name }),
  answers: { 204: { kind: 'none' } },
  errors: [404],
  async handle({ db, person: { userId }, params: { passkeyId = '' }, body }) {
    if (!(await renamePasskey(db, { userId, id: passkeyId, name: wordOf(body, 'name') })))
      throw notFound('such passkey')
    return { status: 204 }
  },
}

const removePasskeyRoute: AccountRoute = {
  ...common,
  method: 'DELETE',
  path: '/v5/me/passkeys/{passkeyId}',
  operation: 'removePasskey',
  summary: 'Remove a passkey',
  description: 'Removing the last factor also deletes the recovery codes.',
  params,
  fresh: true,
  answers: { 204: { kind: 'none' } },
  errors: [404],
  outside: (request) =>
    changed(request, { action: 'factor.removed', factor: 'passkey', what: 'passkey-removed' }, async (db) => {
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
