-- rapport: no transaction
-- What one person assigns at once is one entry of the inbox. Each statement can be repeated.

-- Each event keeps its row. `group_id`: the entry that stands for it, itself for the first one of a group; the others are
-- not listed. `grouped_at`: when the last event of the group happened. `record_count`: the records that the entry is about.
alter table inbox_entries
  add column if not exists record_count integer not null default 1,
  add column if not exists group_id uuid,
  add column if not exists grouped_at timestamptz(3);

drop index concurrently if exists inbox_entries_group;
create index concurrently inbox_entries_group on inbox_entries (organization_id, group_id) where group_id is not null;
