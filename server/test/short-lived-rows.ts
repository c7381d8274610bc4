import { randomUUID } from 'node:crypto'
import { retention } from './maintenance-fixture.ts'
import { eventRow } from './purged-events.ts'

/** A row, by column. */
export type StoredRow = Record<string, unknown>

/** Random bytes, as a recordset accepts them. */
export const hash = (): string => `\\x${randomUUID().replaceAll('-', '')}`

/** The rows that short-lived rows refer to. */
interface ReferencedIds {
  organization_id: string
  user_id: string
  api_key_id: string
  connection_id: string
  webhook_id: string
}

export interface ShortLivedRow {
  table: string
  /** The column with the time since which the row is expired, and the days that it is stored after that. */
  since: string
  days: number
  row: (known: ReferencedIds, at: string) => StoredRow
}

const hour = 1 / 24
const id = (): string => randomUUID()
const mail = { kind: 'sign-up', recipient: 'a@b.c', recipient_key: 'a@b.c', run_at: null }
/** Rows with an expiry time. */
export const shortLivedRows = {
  token: { table: 'one_time_tokens', since: 'expires_at', days: 0, row: () => ({ hash: hash(), purpose: 'sign-up' }) },
  login: {
    table: 'pending_logins',
    since: 'expires_at',
    days: 0,
    row: ({ user_id }) => ({ id: id(), hash: hash(), user_id, wants_cookie: false }),
  },
  failure: {
    table: 'login_failures',
    since: 'failed_at',
    days: 1,
    row: () => ({ id: id(), account_key: hash(), address: '192.0.2.1', source: 'stranger' }),
  },
  factorFailure: {
    table: 'factor_failures',
    since: 'failed_at',
    days: 1,
    row: ({ user_id }) => ({ id: id(), user_id, kind: 'totp', place: 'session' }),
  },
  challenge: { table: 'spent_challenges', since: 'expires_at', days: hour, row: () => ({ hash: hash() }) },
  step: {
    table: 'sso_steps',
    since: 'expires_at',
    days: 0,
    row: ({ organization_id, connection_id }) => ({ organization_id, connection_id, hash: hash(), kind: 'flow' }),
  },
  auditEvent: {
    table: 'audit_events',
    since: 'created_at',
    days: retention.auditLogDays,
    row: ({ organization_id }) => ({ organization_id, id: id(), action: 'member.left', actor_kind: 'command' }),
  },
  event: {
    table: 'events',
    since: 'created_at',
    // An hour more than the feed reaches back.
    days: retention.eventDays + hour,
    row: ({ organization_id }) => eventRow({ organization_id, record_id: id() }, false),
  },
  historyEvent: {
    table: 'events',
    since: 'created_at',
    days: retention.historyDays + hour,
    row: ({ organization_id }) => eventRow({ organization_id, record_id: id() }),
  },
  delivery: {
    table: 'webhook_deliveries',
    since: 'finished_at',
    days: retention.eventDays,
    row: ({ organization_id, webhook_id }) => ({
      ...{ organization_id, webhook_id, id: id(), event_id: id(), type: 'contact.created', record_id: 'con_1' },
      status: 'delivered',
    }),
  },
  inboxEntry: {
    table: 'inbox_entries',
    since: 'created_at',
    days: 180,
    row: ({ organization_id, user_id }) => ({
      ...{ organization_id, user_id, id: id(), kind: 'assigned', resource: 'tasks', record_id: id(), key: id() },
      read: false,
    }),
  },
  signingSecret: {
    table: 'webhook_secrets',
    since: 'ends_at',
    days: 0,
    row: ({ organization_id, webhook_id }) => ({ organization_id, webhook_id, id: id(), secret_sealed: hash() }),
  },
  presence: {
    table: 'presences',
    since: 'seen_at',
    days: 1 / 1440,
    row: ({ organization_id }) => ({ organization_id, session_id: id(), tab: 'main', user_id: id(), places: '[]' }),
  },
  keyText: {
    table: 'api_key_previous_hashes',
    since: 'ends_at',
    days: 0,
    row: ({ organization_id, api_key_id }) => ({ organization_id, api_key_id, hash: hash() }),
  },
  mail: { table: 'mails', since: 'ended_at', days: 30, row: () => ({ id: id(), ...mail, status: 'sent' }) },
  droppedMail: {
    table: 'mails',
    since: 'dropped_at',
    days: 1,
    row: (_, at) => ({ id: id(), ...mail, status: 'dropped', ended_at: at }),
  },
} satisfies Record<string, ShortLivedRow>
export const shortLivedRowNames = Object.keys(shortLivedRows) as (keyof typeof shortLivedRows)[]
