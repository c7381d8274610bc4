-- Logging in at an organization's own identity provider (OpenID Connect).

create table sso_connections (
  organization_id uuid not null references organizations (id) on delete cascade,
  id uuid not null,
  name text not null,
  -- As its metadata spell it, to the letter.
  issuer text not null,
  client_id text not null,
  -- Encrypted under SECRET; null for a client that has none.
  client_secret_encrypted bytea,
  has_client_secret boolean not null generated always as (client_secret_encrypted is not null) stored,
  -- What people become who join by a proved domain; null: nobody joins by themself.
  default_role text check (default_role in ('viewer', 'member')),
  enabled boolean not null,
  revision integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  primary key (organization_id, id)
);
create index sso_connections_created on sso_connections (organization_id, created_at, id);
-- Whoever begins to log in names the connection alone.
create index sso_connections_id on sso_connections (id);

create table domains (
  organization_id uuid not null references organizations (id) on delete cascade,
  id uuid not null,
  domain text not null,
  record_name text not null generated always as ('_rapport.' || domain) stored,
  -- What the TXT record has to say. Public once it is set, and good for this organization alone.
  record_value text not null,
  verified_at timestamptz(3),
  revision integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  primary key (organization_id, id)
);
create unique index domains_domain_unique on domains (organization_id, domain);
create index domains_created on domains (organization_id, created_at, id);

-- Who a person is at a provider. It counts for the organization whose connection it was proved at, and no other.
create table sso_identities (
  organization_id uuid not null references organizations (id) on delete cascade,
  id uuid not null,
  -- Null once it is unlinked or the connection is gone: nobody logs in with it then, and whose it was stays known.
  connection_id uuid,
  user_id uuid not null references users (id) on delete cascade,
  issuer text not null,
  subject text not null,
  -- What the provider said when it was linked, for people to tell it by; nobody gets in by it.
  email text,
  -- The same, folded: who was a member and is not is known by it.
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

-- What was begun and is not over: each row is good once. Looked up before anything else is known, so the hash is the key.
create table sso_steps (
  -- SHA-256 of a text of 256 random bits.
  hash bytea primary key,
  -- link: a person may begin to link; flow: somebody is at the provider; proof: a person has come back, and may link.
  kind text not null check (kind in ('link', 'flow', 'proof')),
  organization_id uuid not null,
  connection_id uuid not null,
  -- SHA-256 of what the browser that began keeps in its cookie.
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
