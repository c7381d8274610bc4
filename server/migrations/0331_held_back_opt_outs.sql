-- Notes of an import may opt out contacts, unless its settings say otherwise.
alter table imports add column notes_may_opt_out boolean not null default true;

-- The import whose push contained the note of a suggestion: null for other notes, and for earlier suggestions. No foreign
-- key, because a suggestion outlives the import.
alter table suggestions add column import_id uuid;
-- Why an action that could have taken effect by itself waits for a person.
alter table suggestions add column waiting_reason text;
