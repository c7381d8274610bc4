-- Token buckets that all services on this database share. A row that has not been used for two minutes is full, and is
-- deleted. Unlogged: a crash of the database fills all buckets, and a charge does not wait for the disk.
create unlogged table rate_limits (
  -- A hash of the policy and of the credential, import trigger or address.
  id bytea primary key,
  tokens double precision not null,
  -- What the last charge took.
  granted integer not null,
  used_at timestamptz not null
) with (fillfactor = 50);
create index rate_limits_used on rate_limits (used_at);
