/**
 * Where each table is stored. The directory is what a request reads before its organization is known: people and their
 * credentials. Everything else belongs to an organization, and its tables start their keys with `organization_id`. No
 * statement, view, function or foreign key uses tables of both places, so that a distributed database (Citus) can keep
 * the directory on its coordinator and the records of an organization on one shard. `server/test/places.test.ts` and
 * every statement of the test suite are checked against this list (docs/decisions/0019-places.md).
 */
export const tablesByPlace = {
  directory: [
    // The installation
    'instance',
    'schema_migrations',
    'signing_keys',
    'rate_limits',
    'wakeups',
    // Organizations and who belongs to them
    'organizations',
    'members',
    'former_members',
    'roles',
    'team_members',
    'invitations',
    'api_keys',
    'api_key_previous_hashes',
    'sso_connections',
    'sso_identities',
    'sso_steps',
    'domains',
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
    'mails',
    'pending_events',
    // The organization and import of a secret URL
    'import_triggers',
  ],
  organization: [
    'teams',
    'audit_events',
    'idempotency_answers',
    // Contacts and companies
    'root_contacts',
    'root_contacts_left',
    'contacts',
    'contact_external_ids',
    'contact_edits',
    'contact_edited_values',
    'contact_renderings',
    'contact_changes',
    'contact_unique_values',
    'companies',
    'company_external_ids',
    'company_edits',
    'company_edited_values',
    'company_renderings',
    'company_changes',
    'company_unique_values',
    'employments',
    // Deals
    'pipelines',
    'stages',
    'deals',
    'deal_external_ids',
    'deal_contacts',
    'deal_changes',
    'deal_unique_values',
    'stage_moves',
    // Work on records
    'notes',
    'note_leases',
    'note_analyses',
    'reasoning_tokens',
    'suggestions',
    'tasks',
    'campaigns',
    'views',
    // Custom properties
    'properties',
    'property_sets',
    'property_indexes',
    'property_entries',
    'example_records',
    // Imports
    'imports',
    'import_secrets',
    'import_turns',
    'import_rows',
    'import_push_keys',
    'import_row_counts',
    'import_pushed_bytes',
    'refused_pushes',
    'refused_push_counts',
    'refused_senders',
  ],
} as const
