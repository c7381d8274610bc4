-- What people prove themselves with beside a password. All of it belongs to the person, whatever organizations they are in.

create table totp_secrets (
  user_id uuid primary key references users (id) on delete cascade,
  -- 20 random bytes, encrypted under SECRET.
  secret_encrypted bytea not null,
  -- Null until a first code has shown that the person has the secret.
  confirmed_at timestamptz(3),
  -- The time step (RFC 6238) of the last code that was taken: neither it nor an earlier one is taken again.
  last_step bigint,
  last_used_at timestamptz(3),
  created_at timestamptz(3) not null default now()
);

-- A row is a code that was not used yet.
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
  -- As the authenticator named it; looked up before the person is known.
  credential_id bytea not null,
  -- COSE (RFC 9052).
  public_key bytea not null,
  -- How often it has signed, where the authenticator counts; 0 where it does not.
  counter bigint not null,
  transports text[] not null,
  name text not null,
  -- The person's provider keeps it on several devices.
  is_synced boolean not null,
  last_used_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  constraint passkeys_credential_unique unique (credential_id)
);
create index passkeys_user on passkeys (user_id);

-- WebAuthn challenges that were answered: none is taken twice. Those that nobody answered are nowhere.
create table spent_challenges (
  hash bytea primary key,
  expires_at timestamptz(3) not null
);
create index spent_challenges_expires on spent_challenges (expires_at, hash);

-- Wrong second factors, which slow guessing down.
create table factor_failures (
  id uuid primary key,
  user_id uuid not null references users (id) on delete cascade,
  kind text not null check (kind in ('totp', 'recovery-code', 'passkey')),
  -- Where it was tried: each place has an allowance of its own, so that no stranger uses up the person's.
  place text not null check (place in ('session', 'known device', 'unknown device')),
  failed_at timestamptz(3) not null default now()
);
create index factor_failures_user on factor_failures (user_id, kind, place, failed_at);
create index factor_failures_failed on factor_failures (failed_at, id);
