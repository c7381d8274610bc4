import { resources } from './app.ts'
import { historiesOfFirstRelease } from './crm/history-retention-store.ts'
import { tablesOf } from './platform/records/declare/tables.ts'

/** The tables that follow from the declarations of one place. */
const declaredTables = (isInDirectory: boolean): string[] =>
  resources.filter((resource) => (resource.isInDirectory ?? false) === isInDirectory).flatMap(tablesOf)

/**
 * Where each table is stored. The directory is what a request reads before its organization is known: people and their
 * credentials. Everything else belongs to an organization, and its tables start their keys with `organization_id`. No
 * statement, view, function or foreign key uses tables of both places, so that the directory and the records of an
 * organization can be on different servers. `server/test/places.test.ts` and
 * every statement of the test suite are checked against it (docs/decisions/0019-places.md).
 *
 * The tables of a resource are where its declaration says; those that no declaration has are listed here.
 */
export const tablesByPlace: Readonly<Record<'directory' | 'organization', readonly string[]>> = {
  directory: [
    ...declaredTables(true),
    // The installation
    'instance',
    'schema_migrations',
    'signing_keys',
    'rate_limits',
    'wakeups',
    // Organizations and who belongs to them
    'organizations',
    'former_members',
    'api_key_previous_hashes',
    'sso_identities',
    'sso_steps',
    // People
    'users',
    'former_addresses',
    'sessions',
    'pending_logins',
    'login_failures',
    'one_time_tokens',
    'totp_secrets',
    'recovery_codes',
    'passkeys',
    'spent_challenges',
    'factor_failures',
    'pending_events',
    // Notifications of browsers
    'push_keys',
    'push_subscriptions',
    'push_messages',
    // The organization and import of a secret URL
    'import_triggers',
  ],
  organization: [
    ...declaredTables(false),
    'idempotency_answers',
    // The feed, and the histories of release 0.1.0
    'events',
    'event_feeds',
    ...historiesOfFirstRelease,
    // Webhooks
    'webhook_states',
    'webhook_secrets',
    // The inbox
    'inbox_settings',
    'inbox_changes',
    'inbox_positions',
    'inbox_digests',
    // Who has which records open
    'presences',
    // Contacts and companies
    'root_contacts',
    'root_contacts_left',
    'contact_emails',
    'contact_edits',
    'contact_edited_values',
    'company_edits',
    'company_edited_values',
    // Work on records
    'note_leases',
    'reasoning_tokens',
    // Custom properties
    'property_sets',
    'property_indexes',
    'property_entries',
    'example_records',
    // Imports
    'import_secrets',
    'import_turns',
    'import_push_keys',
    'import_row_counts',
    'import_pushed_bytes',
    'refused_push_counts',
    'refused_senders',
  ],
}
