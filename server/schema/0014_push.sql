-- Notifications that browsers show while the application is closed (web push).

-- The key pair by which push services recognize this installation. Made once: a browser subscribes to one public key.
create table push_keys (
  id uuid primary key,
  public_key text not null,
  -- Encrypted under SECRET.
  private_key_sealed bytea not null,
  created_at timestamptz(3) not null default now()
);

-- A browser in which a person has switched notifications on. It gets nothing after its session has ended.
create table push_subscriptions (
  id uuid primary key,
  user_id uuid not null references users (id) on delete cascade,
  session_id uuid not null,
  -- SHA-256 of the address at the push service.
  endpoint_hash bytea not null,
  -- That address and the keys of the browser, encrypted under SECRET.
  target_sealed bytea not null,
  host text not null,
  language text not null,
  last_success_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  constraint push_subscriptions_session_unique unique (session_id),
  constraint push_subscriptions_endpoint_unique unique (endpoint_hash)
);
create index push_subscriptions_user on push_subscriptions (user_id);

-- Notifications that wait for their push service. Their texts are made when they are sent.
create table push_messages (
  id uuid primary key,
  subscription_id uuid not null references push_subscriptions (id) on delete cascade,
  organization_id uuid not null references organizations (id) on delete cascade,
  entry_id uuid not null,
  attempts integer not null default 0,
  run_at timestamptz not null default now(),
  -- The process that sends it, by its fencing token.
  lease uuid,
  constraint push_messages_entry_unique unique (subscription_id, entry_id)
);
create index push_messages_due on push_messages (run_at, id);
create index push_messages_organization on push_messages (organization_id);

-- The day of the last digest that was mailed to a person, by their clock: one a day.
create table inbox_digests (
  organization_id uuid not null,
  user_id uuid not null,
  last_day date not null,
  primary key (organization_id, user_id)
);

-- Digests are mails of another kind.
alter table mails drop constraint mails_kind_check;
alter table mails add constraint mails_kind_check check (kind in ('sign-up', 'verify-address', 'reset-password',
  'invitation', 'new-device', 'account-changed', 'webhook', 'reminder', 'digest'));
