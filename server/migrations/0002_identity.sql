-- Who may ask: people, organizations, their credentials. Nothing here is usable as a secret by itself: API keys are
-- hashes, refresh tokens are derived from SECRET and the nonce, the signing key is encrypted under SECRET.

-- What this database knows about the installation as a whole, such as the fingerprint of SECRET.
create table instance (
  name text primary key,
  value text not null
);

create table users (
  id uuid primary key,
  email text not null,
  -- Lower case, the domain in its ASCII form: what makes two spellings one address.
  email_key text not null,
  name text not null,
  password_hash text,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  constraint users_email_unique unique (email_key)
);

create table organizations (
  id uuid primary key,
  name text not null,
  slug text not null,
  time_zone text not null default 'UTC',
  default_currency text not null default 'EUR',
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  constraint organizations_slug_unique unique (slug)
);

create table members (
  organization_id uuid not null references organizations (id) on delete cascade,
  user_id uuid not null references users (id) on delete cascade,
  role text not null check (role in ('owner', 'admin', 'member', 'viewer')),
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  primary key (organization_id, user_id)
);
create index members_user on members (user_id);

create table teams (
  organization_id uuid not null references organizations (id) on delete cascade,
  id uuid not null,
  name text not null,
  is_default boolean not null default false,
  revision integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  deleted_at timestamptz(3),
  primary key (organization_id, id),
  -- Records that name no team go to the default one, so it cannot go away.
  constraint teams_default_stays check (not is_default or deleted_at is null)
);
create unique index teams_one_default on teams (organization_id) where is_default;
create unique index teams_name_unique on teams (organization_id, fold(name)) where deleted_at is null;

-- Looked up before the organization is known, so the id alone is the key.
create table sessions (
  id uuid primary key,
  user_id uuid not null references users (id) on delete cascade,
  -- The organization of a request that names none.
  organization_id uuid not null references organizations (id) on delete cascade,
  -- Only the refresh token of this generation rotates; the one before it may ask again for a short while.
  nonce bytea not null,
  generation integer not null default 0,
  rotated_at timestamptz(3) not null default now(),
  ended_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  last_used_at timestamptz(3) not null default now(),
  user_agent text,
  address text
);
create index sessions_user on sessions (user_id);
create index sessions_organization on sessions (organization_id);

create table api_keys (
  organization_id uuid not null references organizations (id) on delete cascade,
  id uuid not null,
  -- SHA-256 of the whole key. The key has 202 random bits, so a slow hash would add nothing.
  hash bytea not null,
  name text not null,
  scopes text[] not null,
  created_by uuid not null references users (id),
  -- Raised by every change to what the key may do: a process that remembers another version reads the key again.
  version integer not null default 1,
  expires_at timestamptz(3),
  revoked_at timestamptz(3),
  last_used_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  primary key (organization_id, id),
  constraint api_keys_hash_unique unique (hash)
);
create index api_keys_created_by on api_keys (created_by);

create table signing_keys (
  -- The RFC 7638 thumbprint of the public key: `kid` in tokens and in the key set.
  id text primary key,
  algorithm text not null,
  public_jwk jsonb not null,
  private_key_encrypted bytea not null,
  status text not null check (status in ('active', 'retired')),
  created_at timestamptz(3) not null default now()
);
-- Several processes may start on an empty table; one key wins.
create unique index signing_keys_one_active on signing_keys (status) where status = 'active';

-- Answers that a repeated Idempotency-Key gets again. They are encrypted under a key derived from that key, which is
-- kept only as a hash.
create table idempotency_answers (
  organization_id uuid not null references organizations (id) on delete cascade,
  credential_id uuid not null,
  key_hash bytea not null,
  request_hash bytea not null,
  -- Status, headers and body.
  answer_encrypted bytea not null,
  created_at timestamptz(3) not null default now(),
  primary key (organization_id, credential_id, key_hash)
);
create index idempotency_answers_created on idempotency_answers (created_at);
