-- People, organizations and their credentials. No column contains a usable secret: API keys are stored as hashes,
-- refresh tokens are derived from SECRET and the nonce, and the signing key is encrypted with SECRET.

-- Values of the whole installation, such as the fingerprint of SECRET.
create table instance (
  name text primary key,
  value text not null
);

create table users (
  id uuid primary key,
  email text not null,
  -- Lower case, with the domain in ASCII form: equal keys mean the same address.
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
  -- New records without a team are added to the default team, so it cannot be deleted.
  constraint teams_default_stays check (not is_default or deleted_at is null)
);
create unique index teams_one_default on teams (organization_id) where is_default;
create unique index teams_name_unique on teams (organization_id, fold(name)) where deleted_at is null;

-- Looked up before the organization is known, so the key is only the id.
create table sessions (
  id uuid primary key,
  user_id uuid not null references users (id) on delete cascade,
  -- The organization of requests without an organization header.
  organization_id uuid not null references organizations (id) on delete cascade,
  -- Only the refresh token of this generation can be exchanged. The previous one can be repeated for a short time.
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
  -- Increased by every change to the key's permissions: a process that has cached another version reads the key again.
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
-- Several processes can start on an empty table at the same time; only one key becomes active.
create unique index signing_keys_one_active on signing_keys (status) where status = 'active';

-- Responses that are sent again when an Idempotency-Key is repeated. They are encrypted with a key derived from the
-- Idempotency-Key, of which only a hash is stored.
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
