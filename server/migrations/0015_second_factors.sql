-- Second factors and recovery codes. They belong to the person, in all organizations.

create table totp_secrets (
  user_id uuid primary key references users (id) on delete cascade,
  -- 20 random bytes, encrypted with SECRET.
  secret_encrypted bytea not null,
  -- Null until the person has entered a first code.
  confirmed_at timestamptz(3),
  -- The time step (RFC 6238) of the last accepted code. The same step and earlier ones are rejected.
  last_step bigint,
  last_used_at timestamptz(3),
  created_at timestamptz(3) not null default now()
);

-- Each row is an unused code.
create table recovery_codes (
  user_id uuid not null references users (id) on delete cascade,
  -- SHA-256 of a code of 140 random bits: a slow hash would add nothing.
  hash bytea not null,
  created_at timestamptz(3) not null default now(),
  primary key (user_id, hash)
);

create table passkeys (
  id uuid primary key,
  user_id uuid not null references users (id) on delete cascade,
  -- The id from the authenticator. Looked up before the person is known.
  credential_id bytea not null,
  -- COSE (RFC 9052).
  public_key bytea not null,
  -- The authenticator's signature counter; 0 if it does not count.
  counter bigint not null,
  transports text[] not null,
  name text not null,
  -- The passkey is synchronized between several devices.
  is_synced boolean not null,
  last_used_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  constraint passkeys_credential_unique unique (credential_id)
);
create index passkeys_user on passkeys (user_id);

-- Used WebAuthn challenges, so that each is accepted only once. Unused challenges are not stored.
create table spent_challenges (
  hash bytea primary key,
  expires_at timestamptz(3) not null
);
create index spent_challenges_expires on spent_challenges (expires_at, hash);

-- Wrong second factors, which are counted to slow down guessing.
create table factor_failures (
  id uuid primary key,
  user_id uuid not null references users (id) on delete cascade,
  kind text not null check (kind in ('totp', 'recovery-code', 'passkey')),
  -- The kind of origin. Each has a separate limit, so that an attacker cannot use up the person's attempts.
  place text not null check (place in ('session', 'known device', 'unknown device')),
  failed_at timestamptz(3) not null default now()
);
create index factor_failures_user on factor_failures (user_id, kind, place, failed_at);
create index factor_failures_failed on factor_failures (failed_at, id);
