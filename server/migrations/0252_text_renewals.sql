-- The organizations whose texts of earlier releases are composed and folded again.
create table text_renewals (
  organization_id uuid not null primary key,
  renewed_at timestamptz(3) not null default now()
);
