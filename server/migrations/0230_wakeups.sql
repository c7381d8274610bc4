-- In a distributed database, where background work may be due: a worker reads only the shards of these organizations.
-- Unlogged, because a sweep across all shards finds what a crash loses. No foreign key: a wakeup must never be refused,
-- and a worker deletes that of an organization without work.
create unlogged table wakeups (
  organization_id uuid not null,
  kind text not null,
  due_at timestamptz not null,
  touched_at timestamptz not null,
  -- The last touch: a worker that has seen an earlier one must neither postpone nor delete the wakeup.
  touch uuid not null,
  primary key (organization_id, kind)
) with (fillfactor = 50);
