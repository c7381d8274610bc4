-- Notes: what is worth remembering of a contact, entered by hand or pushed by an import.

create table notes (
  organization_id uuid not null references organizations (id) on delete cascade,
  id uuid not null,
  contact_id uuid not null,
  body text not null,
  source text not null default 'manual' check (source in ('manual', 'import')),
  author_id uuid,
  -- No foreign key: rows of imports are purged sooner than what they brought.
  import_row_id uuid,
  -- Set by whoever writes the text, null once the reasoning step has read it: the note is its own place in the queue.
  reasoning_queued_at timestamptz(3),
  revision integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  deleted_at timestamptz(3),
  -- What `query` and `contains` look into, folded.
  search text not null generated always as (fold(body)) stored,
  primary key (organization_id, id),
  foreign key (organization_id, contact_id) references contacts (organization_id, id) on delete cascade,
  -- A member who leaves is not the author any more, as a contact's owner is not.
  foreign key (organization_id, author_id) references members (organization_id, user_id) on delete set null (author_id)
);

-- Deleted notes too: they go with their contact, and an import does not bring them again.
create index notes_contact on notes (organization_id, contact_id, created_at, id);
create index notes_created on notes (organization_id, created_at, id) where deleted_at is null;
create index notes_author on notes (organization_id, author_id, created_at, id) where author_id is not null;
-- Without the organization on purpose (docs/decisions/0005-gin-without-organization.md).
create index notes_search on notes using gin (search gin_trgm_ops) where deleted_at is null;
-- The queue of the reasoning step: of each organization the notes that wait, the first one first.
create index notes_reasoning on notes (organization_id, reasoning_queued_at, id)
  where reasoning_queued_at is not null and deleted_at is null;
