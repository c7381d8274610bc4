-- How people and programs prove who they are: sessions, second factors, links in mails, API keys and single sign-on. No
-- value in these tables is a usable secret. API keys and links are stored as hashes, refresh tokens are derived from
-- SECRET and a nonce, and everything else is encrypted under SECRET. The secrets are random and long, so that a slow
-- hash would add nothing.

-- Looked up before the organization is known, so the id alone is the key.
create table sessions (
  id uuid primary key,
  user_id uuid not null references users (id) on delete cascade,
  -- The organization of a request that names none. Null for a person without organizations.
  organization_id uuid references organizations (id) on delete cascade,
  -- How the person proved who they are when it began.
  begun_by text,
  -- When they last proved it with everything that is required, and with a second factor; null if they did not.
  proved_at timestamptz(3) not null,
  second_factor_at timestamptz(3),
  -- Only the refresh token of this generation rotates; the one before it can be used again for a short time.
  nonce bytea not null,
  generation integer not null default 0,
  rotated_at timestamptz(3) not null default now(),
  -- The session ended because a refresh token was used twice, so the browser it belongs to clears its data.
  token_reused boolean not null default false,
  -- SHA-256 of the random text that the browser stores: a login with the same one is not from a new device.
  device_hash bytea,
  user_agent text,
  address text,
  last_used_at timestamptz(3) not null default now(),
  -- When it ends unless it is refreshed before.
  expires_at timestamptz(3) not null,
  ended_at timestamptz(3),
  created_at timestamptz(3) not null default now()
);
create index sessions_user on sessions (user_id);
create index sessions_organization on sessions (organization_id);
create index sessions_expires on sessions (expires_at, id);
create index sessions_ended on sessions (ended_at, id) where ended_at is not null;

-- Logins with a correct password that still need a second factor.
create table pending_logins (
  id uuid primary key,
  -- SHA-256 of the token that the caller has.
  hash bytea not null,
  user_id uuid not null references users (id) on delete cascade,
  wants_cookie boolean not null,
  failures integer not null default 0,
  expires_at timestamptz(3) not null,
  constraint pending_logins_hash_unique unique (hash)
);
create index pending_logins_user on pending_logins (user_id);
create index pending_logins_expires on pending_logins (expires_at, id);

-- For slowing down guesses. Accounts are identified by a keyed hash of the address, whether they exist or not.
create table login_failures (
  id uuid primary key,
  account_key bytea not null,
  address text not null,
  -- Where it came from, as the account knows it: each source has its own allowance.
  source text not null check (source in ('device', 'familiar', 'session', 'stranger')),
  failed_at timestamptz(3) not null default now()
);
create index login_failures_account on login_failures (account_key, failed_at);
create index login_failures_address on login_failures (address, failed_at);
create index login_failures_failed on login_failures (failed_at, id);

create table totp_secrets (
  user_id uuid primary key references users (id) on delete cascade,
  -- 20 random bytes, encrypted under SECRET.
  secret_encrypted bytea not null,
  -- Null until a first code has shown that the person has the secret.
  confirmed_at timestamptz(3),
  -- The time step (RFC 6238) of the last accepted code: neither it nor an earlier one is accepted again.
  last_step bigint,
  last_used_at timestamptz(3),
  created_at timestamptz(3) not null default now()
);

-- Unused recovery codes.
create table recovery_codes (
  user_id uuid not null references users (id) on delete cascade,
  -- SHA-256 of a code of 140 random bits.
  hash bytea not null,
  created_at timestamptz(3) not null default now(),
  primary key (user_id, hash)
);

create table passkeys (
  id uuid primary key,
  user_id uuid not null references users (id) on delete cascade,
  name text not null,
  -- Chosen by the authenticator, and looked up before the person is known.
  credential_id bytea not null,
  -- COSE (RFC 9052).
  public_key bytea not null,
  -- The number of signatures, if the authenticator counts them; otherwise 0.
  counter bigint not null,
  transports text[] not null,
  -- The person's provider stores it on several devices.
  is_synced boolean not null,
  last_used_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  constraint passkeys_credential_unique unique (credential_id)
);
create index passkeys_user on passkeys (user_id);

-- WebAuthn challenges that have been answered: none is accepted twice. Unanswered ones are not stored.
create table spent_challenges (
  hash bytea primary key,
  expires_at timestamptz(3) not null
);
create index spent_challenges_expires on spent_challenges (expires_at, hash);

-- Wrong second factors, for slowing down guesses.
create table factor_failures (
  id uuid primary key,
  user_id uuid not null references users (id) on delete cascade,
  kind text not null check (kind in ('totp', 'recovery-code', 'passkey')),
  -- Where it was tried: each place has its own allowance, so that another person cannot use up this one's.
  place text not null check (place in ('session', 'known device', 'unknown device')),
  failed_at timestamptz(3) not null default now()
);
create index factor_failures_user on factor_failures (user_id, kind, place, failed_at);
create index factor_failures_failed on factor_failures (failed_at, id);

-- Links that can be used once. Looked up before anything else is known, so the hash is the key.
create table one_time_tokens (
  -- SHA-256 of a token of 256 random bits.
  hash bytea primary key,
  purpose text not null check (purpose in ('set-up', 'sign-up', 'verify-address', 'reset-password', 'invitation')),
  user_id uuid references users (id) on delete cascade,
  email text,
  organization_id uuid references organizations (id) on delete cascade,
  record_id uuid,
  -- A mail server received the link, and no owner has read the mail: only then does it verify the address.
  is_mailed boolean not null default false,
  created_at timestamptz(3) not null default now(),
  expires_at timestamptz(3) not null
);
create index one_time_tokens_expires on one_time_tokens (expires_at, hash);
create index one_time_tokens_user on one_time_tokens (user_id);
create index one_time_tokens_organization on one_time_tokens (organization_id);

-- The queue of mails to be sent, and the outbox of a service without a mail server.
create table mails (
  -- A mail may belong to a person alone, so the id is the key.
  id uuid primary key,
  -- The organization whose owners may see it. Null until it is composed, and for a person in no organization or
  -- several: nothing of one organization may become known to another.
  organization_id uuid references organizations (id) on delete cascade,
  user_id uuid references users (id) on delete cascade,
  -- What else it is about, such as an invitation.
  record_id uuid,
  kind text not null
    check (kind in ('sign-up', 'verify-address', 'reset-password', 'invitation', 'new-device', 'account-changed')),
  recipient text not null,
  -- Lower case, the domain in its ASCII form: what makes two spellings one address.
  recipient_key text not null,
  -- What it says, besides what is looked up when it is composed. Never a secret.
  facts jsonb not null default '{}',
  subject text,
  -- Text and HTML, encrypted under SECRET, because links in it log a person in. Null until it is composed and once it
  -- has been sent.
  body_sealed bytea,
  -- SHA-256 of the one-time token in the body: a person who reads the body knows the link.
  token_hash bytea,
  composed_at timestamptz(3),
  status text not null default 'queued' check (status in ('queued', 'sent', 'kept', 'failed', 'dropped')),
  -- Number of times that a process has taken it.
  attempts integer not null default 0,
  -- While it is queued: when a process may take it; the end of the lease once one has.
  run_at timestamptz(3) default now(),
  lease uuid,
  last_error text,
  sent_at timestamptz(3),
  ended_at timestamptz(3),
  -- Of a mail to an address that belongs to nobody and that anyone may have entered.
  dropped_at timestamptz(3),
  revision integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  constraint mails_queued_have_a_time check ((status = 'queued') = (run_at is not null)),
  constraint mails_ended_have_a_time check ((status = 'queued') = (ended_at is null))
);
create index mails_queue on mails (run_at, id) where status = 'queued';
create index mails_created on mails (organization_id, created_at, id) where organization_id is not null;
create index mails_user on mails (user_id);
-- How many a recipient has received recently.
create index mails_recipient on mails (recipient_key, kind, created_at);
create index mails_ended on mails (ended_at, id) where ended_at is not null;
create index mails_dropped on mails (dropped_at, id) where dropped_at is not null;

create table api_keys (
  organization_id uuid not null references organizations (id) on delete cascade,
  id uuid not null,
  name text not null,
  -- SHA-256 of the whole key, which has 202 random bits.
  hash bytea not null,
  scopes text[] not null,
  -- Networks and addresses from which it is valid, such as 203.0.113.0/24; without any, from everywhere.
  allowed_addresses text[] not null default '{}',
  -- Changes with what the key may do: a process that has cached another version reads the key again.
  version integer not null default 1,
  created_by uuid not null references users (id),
  expires_at timestamptz(3),
  revoked_at timestamptz(3),
  last_used_at timestamptz(3),
  last_used_address text,
  revision integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  primary key (organization_id, id),
  constraint api_keys_hash_unique unique (hash)
);
create index api_keys_created on api_keys (organization_id, created_at, id);
create index api_keys_created_by on api_keys (created_by);

-- The texts of rotated keys, valid until they expire. Looked up before the organization is known, so the hash is the
-- key.
create table api_key_previous_hashes (
  hash bytea primary key,
  organization_id uuid not null,
  api_key_id uuid not null,
  ends_at timestamptz(3) not null,
  foreign key (organization_id, api_key_id) references api_keys (organization_id, id) on delete cascade
);
create index api_key_previous_hashes_key on api_key_previous_hashes (organization_id, api_key_id);
create index api_key_previous_hashes_ends on api_key_previous_hashes (ends_at);

-- The identity providers of organizations (OpenID Connect).
create table sso_connections (
  organization_id uuid not null references organizations (id) on delete cascade,
  id uuid not null,
  name text not null,
  -- Exactly as in the provider's metadata.
  issuer text not null,
  client_id text not null,
  -- Encrypted under SECRET; null for a client without one.
  client_secret_encrypted bytea,
  has_client_secret boolean not null generated always as (client_secret_encrypted is not null) stored,
  -- The role of people who join through a verified domain; null if nobody can.
  default_role text check (default_role in ('viewer', 'member')),
  enabled boolean not null,
  revision integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  primary key (organization_id, id)
);
create index sso_connections_created on sso_connections (organization_id, created_at, id);
-- The beginning of a login only has the id of the connection.
create index sso_connections_id on sso_connections (id);

create table domains (
  organization_id uuid not null references organizations (id) on delete cascade,
  id uuid not null,
  domain text not null,
  -- The TXT record that verifies it. Public once it is set, and valid for this organization only.
  record_name text not null generated always as ('_rapport.' || domain) stored,
  record_value text not null,
  verified_at timestamptz(3),
  revision integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  primary key (organization_id, id)
);
create unique index domains_domain_unique on domains (organization_id, domain);
create index domains_created on domains (organization_id, created_at, id);

-- Who a person is at a provider. Valid only for the organization whose connection proved it.
create table sso_identities (
  organization_id uuid not null references organizations (id) on delete cascade,
  id uuid not null,
  -- Null once it is unlinked or the connection is deleted: it logs nobody in, and still shows whose it was.
  connection_id uuid,
  user_id uuid not null references users (id) on delete cascade,
  issuer text not null,
  subject text not null,
  -- What the provider said when it was linked, so that people recognize it. It logs nobody in.
  email text,
  -- The same, folded: former members are recognized by it.
  email_key text,
  last_used_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  primary key (organization_id, id),
  foreign key (organization_id, connection_id) references sso_connections (organization_id, id)
    on delete set null (connection_id)
);
create unique index sso_identities_subject_unique on sso_identities (organization_id, issuer, subject);
create index sso_identities_connection on sso_identities (organization_id, connection_id);
create index sso_identities_email on sso_identities (organization_id, email_key);
create index sso_identities_user on sso_identities (user_id);

-- Logins and links at a provider that have begun. Each row can be used once. Looked up before anything else is known,
-- so the hash is the key.
create table sso_steps (
  -- SHA-256 of a text of 256 random bits.
  hash bytea primary key,
  -- link: a person may begin to link; flow: somebody is at the provider; proof: a person has come back, and may link.
  kind text not null check (kind in ('link', 'flow', 'proof')),
  organization_id uuid not null,
  connection_id uuid not null,
  -- SHA-256 of what the browser that began it has in its cookie.
  browser_hash bytea,
  return_to text,
  -- Who links; null for a login.
  user_id uuid references users (id) on delete cascade,
  issuer text,
  subject text,
  email text,
  expires_at timestamptz(3) not null,
  foreign key (organization_id, connection_id) references sso_connections (organization_id, id) on delete cascade
);
create index sso_steps_connection on sso_steps (organization_id, connection_id);
create index sso_steps_user on sso_steps (user_id);
create index sso_steps_expires on sso_steps (expires_at, hash);
