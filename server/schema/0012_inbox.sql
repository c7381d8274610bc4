-- What concerns a person in an organization, and how they want to hear of it.

-- Entries are added by `addEntries`. Maintenance deletes those that expire, the notifier those of purged records.
create table inbox_entries (
  organization_id uuid not null,
  id uuid not null,
  user_id uuid not null,
  kind text not null
    check (kind in ('assigned', 'mentioned', 'suggestion', 'importFailed', 'webhookDisabled', 'reminder', 'taskDue')),
  resource text not null,
  record_id uuid not null,
  author_id uuid,
  -- What it reports: adding the same twice adds it once.
  key text not null,
  read boolean not null default false,
  -- False if the person wants to hear of it in other ways only.
  is_listed boolean not null default true,
  -- Whether it is still to be sent in these ways.
  push_pending boolean not null default false,
  digest_pending boolean not null default false,
  revision integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  primary key (organization_id, id)
);
create unique index inbox_entries_key on inbox_entries (organization_id, user_id, key);
create index inbox_entries_created on inbox_entries (organization_id, user_id, created_at, id);
create index inbox_entries_unread on inbox_entries (organization_id, user_id) where not read and is_listed;
create index inbox_entries_record on inbox_entries (organization_id, record_id);
create index inbox_entries_push on inbox_entries (organization_id, user_id) where push_pending;
create index inbox_entries_digest on inbox_entries (organization_id, user_id) where digest_pending;
create index inbox_entries_expiring on inbox_entries (created_at);

-- What a person has chosen; without a row, the defaults.
create table inbox_settings (
  organization_id uuid not null,
  user_id uuid not null,
  -- By kind, only where they differ from the defaults.
  ways jsonb not null default '{}',
  digest_at text not null default '08:00',
  digest_days text[] not null default '{monday,tuesday,wednesday,thursday,friday}',
  primary key (organization_id, user_id)
);

-- Increases with each change of a person's entries, so that their other devices learn of it.
create table inbox_changes (
  organization_id uuid not null,
  user_id uuid not null,
  number bigint not null default 1,
  primary key (organization_id, user_id)
);

-- How far the notifier has read the feed of each organization.
create table inbox_positions (
  organization_id uuid primary key,
  "position" bigint not null default 0
);

-- The person who created the import; null for those from before.
alter table imports add column created_by_id uuid;

-- Mails of reminders are of another kind.
alter table mails drop constraint mails_kind_check;
alter table mails add constraint mails_kind_check check (kind in (
  'sign-up', 'verify-address', 'reset-password', 'invitation', 'new-device', 'account-changed', 'webhook', 'reminder'));
