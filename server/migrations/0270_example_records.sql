-- Which records of an organization are example data. `content` is a hash of what a person can change, so that a record is
-- kept that somebody has made their own. The row whose record is the organization says that there are some.
create table example_records (
  organization_id uuid not null,
  record_id uuid not null,
  kind text not null check (kind in ('set', 'companies', 'contacts', 'deals', 'tasks', 'notes')),
  content bytea,
  primary key (organization_id, record_id)
);
