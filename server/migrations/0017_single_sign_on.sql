-- Single sign-on with an organization's identity provider (OpenID Connect).

create table sso_connections (
  organization_id uuid not null references organizations (id) on delete cascade,
  id uuid not null,
  name text not null,
  -- Exactly as in the provider's metadata.
  issuer text not null,
  client_id text not null,
  -- Encrypted with SECRET; null for a client without a secret.
  client_secret_encrypted bytea,
  has_client_secret boolean not null generated always as (client_secret_encrypted is not null) stored,
  -- The role of people who join with a verified domain. Null: they cannot join.
  default_role text check (default_role in ('viewer', 'member')),
  enabled boolean not null,
  revision integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  primary key (organization_id, id)
);
create index sso_connections_created on sso_connections (organization_id, created_at, id);
-- A login starts with only the id of the connection.
create index sso_connections_id on sso_connections (id);

create table domains (
  organization_id uuid not null references organizations (id) on delete cascade,
  id uuid not null,
  domain text not null,
  record_name text not null generated always as ('_rapport.' || domain) stored,
  -- The required value of the TXT record. It is public once the record is set, and valid only for this organization.
  record_value text not null,
  verified_at timestamptz(3),
  revision integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  primary key (organization_id, id)
);
create unique index domains_domain_unique on domains (organization_id, domain);
create index domains_created on domains (organization_id, created_at, id);

-- The identity of a person at a provider. It is valid only for the organization whose connection authenticated the
-- person.
create table sso_identities (
  organization_id uuid not null references organizations (id) on delete cascade,
  id uuid not null,
  -- Null if the identity was unlinked or the connection was deleted. It can then no longer be used to log in, but still
  -- identifies the person.
  connection_id uuid,
  user_id uuid not null references users (id) on delete cascade,
  issuer text not null,
  subject text not null,
  -- The address from the provider when the identity was linked, shown to people. It does not give access.
  email text,
  -- The address in comparable form, by which former members are recognized.
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

-- Logins and links in progress; each row can be used once. Looked up before anything else is known, so the key is the
-- hash.
create table sso_steps (
  -- SHA-256 of a text with 256 random bits.
  hash bytea primary key,
  -- link: a person can start to link an identity. flow: a person is at the provider. proof: a person has returned and
  -- can confirm the link.
  kind text not null check (kind in ('link', 'flow', 'proof')),
  organization_id uuid not null,
  connection_id uuid not null,
  -- SHA-256 of the value in the cookie of the browser that started.
  browser_hash bytea,
  return_to text,
  -- The person who links an identity; null for a login.
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
