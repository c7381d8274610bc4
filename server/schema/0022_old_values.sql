-- Events that only timelines need have no values.

-- The events up to this position have lost their values, because the feed no longer reaches back to them.
alter table event_feeds add column cleared_position bigint not null default 0;
