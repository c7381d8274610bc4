-- People's own affairs: what proves who they are, sessions that end by themselves, one-time links, failed logins.

alter table users
  -- Since when the address is known to be this person's: they opened a link that was sent there.
  add column verified_at timestamptz(3),
  add column password_changed_at timestamptz(3),
  add column last_login_at timestamptz(3),
  -- Since when nobody logs in as this person any more, by the command line.
  add column disabled_at timestamptz(3),
  -- The kinds of second factor that the person has, kept true by whoever changes them.
  add column second_factors text[] not null default '{}';

alter table organizations add column requires_second_factor boolean not null default false;

alter table sessions
  -- A person who is in no organization has sessions too.
  alter column organization_id drop not null,
  -- When the person last proved who they are, with all that they have to.
  add column proved_at timestamptz(3),
  -- When they last proved a second factor in this session; null when they did not.
  add column second_factor_at timestamptz(3),
  -- When it ends unless it is refreshed before, and how it can be told from others.
  add column expires_at timestamptz(3),
  -- SHA-256 of the random text that the browser keeps: the same one on the next login is no new device.
  add column device_hash bytea,
  -- How the person proved who they are when it began.
  add column begun_by text;
update users set last_login_at = now() where exists (select from sessions where user_id = users.id);
-- As a refresh gives it: 30 days without one, 90 in all.
update sessions set proved_at = created_at,
  expires_at = least(created_at + interval '90 days', last_used_at + interval '30 days');
alter table sessions alter column proved_at set not null, alter column expires_at set not null;
create index sessions_expires on sessions (expires_at, id);

-- Links that were sent, each good once. Looked up before anything else is known, so the hash is the key.
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

-- Logins whose password was right and whose second factor is still to come.
create table pending_logins (
  id uuid primary key,
  -- SHA-256 of the token that the caller holds.
  hash bytea not null,
  user_id uuid not null references users (id) on delete cascade,
  wants_cookie boolean not null,
  failures integer not null default 0,
  expires_at timestamptz(3) not null,
  constraint pending_logins_hash_unique unique (hash)
);
create index pending_logins_user on pending_logins (user_id);
create index pending_logins_expires on pending_logins (expires_at, id);

-- What slows guessing down. An account is known by a keyed hash of its address, whether it exists or not.
create table login_failures (
  id uuid primary key,
  account_key bytea not null,
  address text not null,
  -- Where it came from, as the account knows it: each has an allowance of its own.
  source text not null check (source in ('device', 'familiar', 'session', 'stranger')),
  failed_at timestamptz(3) not null default now()
);
create index login_failures_account on login_failures (account_key, failed_at);
create index login_failures_address on login_failures (address, failed_at);
create index login_failures_failed on login_failures (failed_at, id);

-- Who runs an organization's single sign-on can log in as its members. That must not reach another organization: a session
-- begun that way, with nothing of the person's own beside it, ends when the person joins one more.
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
