-- The locks of the import workers: for each organization a row to claim rows, and a row to process them.
create table import_turns (
  organization_id uuid not null,
  turn text not null check (turn in ('claim', 'work')),
  primary key (organization_id, turn)
);
