-- Notes about a contact, entered by a person or pushed to an import.

create table notes (
  organization_id uuid not null references organizations (id) on delete cascade,
  id uuid not null,
  contact_id uuid not null,
  body text not null,
  source text not null default 'manual' check (source in ('manual', 'import')),
  author_id uuid,
  -- No foreign key: import rows are purged earlier than the records they created.
  import_row_id uuid,
  -- Set when the text is written, and null once the reasoning step has read it. The note is thus also the queue entry.
  reasoning_queued_at timestamptz(3),
  revision integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  deleted_at timestamptz(3),
  -- The folded text that `query` and `contains` search.
  search text not null generated always as (fold(body)) stored,
  primary key (organization_id, id),
  foreign key (organization_id, contact_id) references contacts (organization_id, id) on delete cascade,
  -- A member who leaves is removed as the author of notes, and as the owner of contacts.
  foreign key (organization_id, author_id) references members (organization_id, user_id) on delete set null (author_id)
);

-- Includes deleted notes: they are purged with their contact, and imports do not add them again.
create index notes_contact on notes (organization_id, contact_id, created_at, id);
create index notes_created on notes (organization_id, created_at, id) where deleted_at is null;
create index notes_author on notes (organization_id, author_id, created_at, id) where author_id is not null;
-- Does not start with the organization (docs/decisions/0005-gin-without-organization.md).
create index notes_search on notes using gin (search gin_trgm_ops) where deleted_at is null;
-- The queue of the reasoning step: the waiting notes of each organization, the oldest first.
create index notes_reasoning on notes (organization_id, reasoning_queued_at, id)
  where reasoning_queued_at is not null and deleted_at is null;
