-- Webhooks, and what is sent to them.

-- `headers_sealed`: the values of the headers as JSON, encrypted under SECRET.
create table webhooks (
  organization_id uuid not null,
  id uuid not null,
  url text not null,
  description text,
  events text[] not null default '{}',
  scopes text[] not null default '{}',
  filter jsonb not null default '{}',
  changed_fields text[] not null default '{}',
  ordered boolean not null default false,
  status text not null default 'enabled' check (status in ('enabled', 'paused', 'disabled')),
  status_reason text,
  header_names text[] not null default '{}',
  created_by uuid not null,
  headers_sealed bytea,
  revision integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  deleted_at timestamptz(3),
  primary key (organization_id, id)
);
create index webhooks_created on webhooks (organization_id, created_at, id) where deleted_at is null;
create index webhooks_deleted on webhooks (deleted_at, id) where deleted_at is not null;
create index webhooks_deleted_list on webhooks (organization_id, created_at, id) where deleted_at is not null;

create table webhook_deliveries (
  organization_id uuid not null,
  id uuid not null,
  webhook_id uuid not null,
  event_id uuid not null,
  type text not null,
  record_id text not null,
  status text not null default 'pending'
    check (status in ('pending', 'delivering', 'delivered', 'retrying', 'failed', 'skipped')),
  attempt_count integer not null default 0,
  next_attempt_at timestamptz(3),
  error text,
  is_test boolean not null default false,
  attempts json not null default '[]',
  finished_at timestamptz(3),
  -- That of the event in the feed; null for a test.
  "position" bigint,
  -- 0 for an event that is sent for the first time, 1 for one that is sent again.
  priority smallint not null default 0,
  -- Attempts since it was stored or replayed.
  tries integer not null default 0,
  revision integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  primary key (organization_id, id),
  foreign key (organization_id, webhook_id) references webhooks (organization_id, id) on delete cascade
);
-- An event is stored once for a webhook, however often its part of the feed is read.
create unique index webhook_deliveries_event on webhook_deliveries (organization_id, event_id, webhook_id);
create index webhook_deliveries_created on webhook_deliveries (organization_id, webhook_id, created_at, id);
create index webhook_deliveries_due on webhook_deliveries (organization_id, webhook_id, priority, next_attempt_at)
  where next_attempt_at is not null;
create index webhook_deliveries_unfinished on webhook_deliveries (organization_id, webhook_id, record_id, "position")
  where next_attempt_at is not null;
create index webhook_deliveries_finished on webhook_deliveries (finished_at) where finished_at is not null;

-- Secrets that sign what a webhook sends, encrypted under SECRET.
create table webhook_secrets (
  organization_id uuid not null,
  webhook_id uuid not null,
  id uuid not null,
  secret_sealed bytea not null,
  ends_at timestamptz(3) not null default 'infinity',
  primary key (organization_id, webhook_id, id),
  foreign key (organization_id, webhook_id) references webhooks (organization_id, id) on delete cascade
);
create index webhook_secrets_ended on webhook_secrets (ends_at);

-- Where each webhook is in the feed, and how its receiver fares: this changes often, and the webhook does not.
create table webhook_states (
  organization_id uuid not null,
  webhook_id uuid not null,
  -- In the feed, and the same after a restore, which restores both.
  "position" bigint not null default 0,
  planned_at timestamptz,
  -- The positions between which events are sent again.
  replay_after bigint,
  replay_until bigint,
  -- When the next delivery can be sent; null if none waits.
  due_at timestamptz,
  -- Nothing is sent before, because the receiver asked for that, or because it fails.
  blocked_until timestamptz,
  -- The process that sends, by its fencing token.
  lease uuid,
  leased_until timestamptz,
  failures integer not null default 0,
  failing_since timestamptz,
  -- Whether a mail has reported that it fails.
  is_reported boolean not null default false,
  last_success_at timestamptz,
  primary key (organization_id, webhook_id),
  foreign key (organization_id, webhook_id) references webhooks (organization_id, id) on delete cascade
);
create index webhook_states_due on webhook_states (organization_id, due_at) where due_at is not null;

-- Mails about webhooks are of another kind.
alter table mails drop constraint mails_kind_check;
alter table mails add constraint mails_kind_check check (kind in (
  'sign-up', 'verify-address', 'reset-password', 'invitation', 'new-device', 'account-changed', 'webhook'));
