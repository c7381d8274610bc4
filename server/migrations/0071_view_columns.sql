-- How the columns of a saved view look: their widths in pixels by name, and how many of the first ones stay in sight.

alter table views
  add column column_widths jsonb not null default '{}',
  add column pinned_columns integer not null default 0;
