-- Is the due date of a suggestion in its note, or a default? Null without a due date, and for earlier suggestions.
alter table suggestions add column due_at_source text;
