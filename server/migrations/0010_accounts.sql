-- Accounts: login methods, sessions that expire, one-time links and failed logins.

alter table users
  -- When the person verified the address by opening a link that was sent to it.
  add column verified_at timestamptz(3),
  add column password_changed_at timestamptz(3),
  add column last_login_at timestamptz(3),
  -- When the account was disabled on the command line; null if it is enabled.
  add column disabled_at timestamptz(3),
  -- The kinds of second factor that the person has, updated with every change of a factor.
  add column second_factors text[] not null default '{}';

alter table organizations add column requires_second_factor boolean not null default false;

alter table sessions
  -- A person without an organization can also have a session.
  alter column organization_id drop not null,
  -- When the person last authenticated completely.
  add column proved_at timestamptz(3),
  -- When the person last used a second factor in this session; null if never.
  add column second_factor_at timestamptz(3),
  -- When the session expires unless it is refreshed.
  add column expires_at timestamptz(3),
  -- SHA-256 of the random text in the browser's device cookie: a login with the same text is from a known device.
  add column device_hash bytea,
  -- The login method with which the session began.
  add column begun_by text;
update users set last_login_at = now() where exists (select from sessions where user_id = users.id);
-- As a refresh sets it: 30 days, but at most 90 days in total.
update sessions set proved_at = created_at,
  expires_at = least(created_at + interval '90 days', last_used_at + interval '30 days');
alter table sessions alter column proved_at set not null, alter column expires_at set not null;
create index sessions_expires on sessions (expires_at, id);

-- Links that were sent; each can be used once. Looked up before anything else is known, so the key is the hash.
create table one_time_tokens (
  -- SHA-256 of a token of 256 random bits: a slow hash would add nothing.
  hash bytea primary key,
  purpose text not null check (purpose in ('set-up', 'sign-up', 'verify-address', 'reset-password', 'invitation')),
  user_id uuid references users (id) on delete cascade,
  email text,
  organization_id uuid references organizations (id) on delete cascade,
  record_id uuid,
  created_at timestamptz(3) not null default now(),
  expires_at timestamptz(3) not null
);
create index one_time_tokens_expires on one_time_tokens (expires_at, hash);
create index one_time_tokens_user on one_time_tokens (user_id);
create index one_time_tokens_organization on one_time_tokens (organization_id);

-- Logins with a correct password that still need the second factor.
create table pending_logins (
  id uuid primary key,
  -- SHA-256 of the caller's token.
  hash bytea not null,
  user_id uuid not null references users (id) on delete cascade,
  wants_cookie boolean not null,
  failures integer not null default 0,
  expires_at timestamptz(3) not null,
  constraint pending_logins_hash_unique unique (hash)
);
create index pending_logins_user on pending_logins (user_id);
create index pending_logins_expires on pending_logins (expires_at, id);

-- Failed logins, which are counted to slow down guessing. An account is identified by a keyed hash of its address,
-- whether or not it exists.
create table login_failures (
  id uuid primary key,
  account_key bytea not null,
  address text not null,
  -- The kind of origin, from the point of view of the account. Each kind has a separate limit.
  source text not null check (source in ('device', 'familiar', 'session', 'stranger')),
  failed_at timestamptz(3) not null default now()
);
create index login_failures_account on login_failures (account_key, failed_at);
create index login_failures_address on login_failures (address, failed_at);
create index login_failures_failed on login_failures (failed_at, id);

-- The operator of an organization's identity provider can log in as its members. This must not give access to another
-- organization: a session that began with single sign-on and has no second factor ends when the person joins another
-- organization.
create function end_foreign_sessions() returns trigger language plpgsql as $$
begin
  update sessions set ended_at = now()
  where user_id = new.user_id and ended_at is null and begun_by = 'single-sign-on' and second_factor_at is null
    and exists (select from members other
      where other.user_id = new.user_id and other.organization_id <> new.organization_id);
  return null;
end
$$;
create trigger members_end_foreign_sessions after insert on members
  for each row execute function end_foreign_sessions();
