-- Tasks, and the time zones of people, in which due dates end.

-- IANA name; null for the time zone of each organization.
alter table users add column time_zone text;

create table tasks (
  organization_id uuid not null,
  id uuid not null,
  title text not null,
  body text,
  due_date date,
  due_at timestamptz(3),
  time_zone text not null,
  -- `due_at`, or the end of `due_date` in `time_zone`.
  deadline timestamptz(3),
  assignee_id uuid,
  priority text not null default 'normal' check (priority in ('low', 'normal', 'high', 'urgent')),
  done boolean not null default false,
  done_at timestamptz(3),
  contact_id uuid,
  company_id uuid,
  deal_id uuid,
  created_by_id uuid,
  revision integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  deleted_at timestamptz(3),
  -- What `query` and `contains` look into, folded; lines keep the fields apart.
  search text not null generated always as (fold(title)) stored,
  primary key (organization_id, id),
  check (num_nonnulls(due_date, due_at) <= 1),
  check ((deadline is null) = (num_nonnulls(due_date, due_at) = 0)),
  check (done = (done_at is not null)),
  check (num_nonnulls(contact_id, company_id, deal_id) <= 1),
  foreign key (organization_id, contact_id) references contacts (organization_id, id) on delete cascade,
  foreign key (organization_id, company_id) references companies (organization_id, id) on delete cascade,
  foreign key (organization_id, deal_id) references deals (organization_id, id) on delete cascade
);
create index tasks_deadline on tasks (organization_id, deadline, id) where deleted_at is null;
-- Serves `task_is_overdue`: tasks that are done have a deadline in the past too, and most tasks are done.
create index tasks_open on tasks (organization_id, deadline, id) where not done and deleted_at is null;
create index tasks_created on tasks (organization_id, created_at, id) where deleted_at is null;
create index tasks_contact on tasks (organization_id, contact_id, created_at, id) where contact_id is not null;
create index tasks_company on tasks (organization_id, company_id, created_at, id) where company_id is not null;
create index tasks_deal on tasks (organization_id, deal_id, created_at, id) where deal_id is not null;
create index tasks_assignee on tasks (organization_id, assignee_id, created_at, id)
  where assignee_id is not null and deleted_at is null;
create index tasks_search on tasks using gin (search gin_trgm_ops) where deleted_at is null;
create index tasks_deleted on tasks (deleted_at, id) where deleted_at is not null;
create index tasks_deleted_list on tasks (organization_id, created_at, id) where deleted_at is not null;

create function task_is_overdue(done boolean, deadline timestamptz) returns boolean language sql stable parallel safe
return deadline is not null and not done and deadline < now();
