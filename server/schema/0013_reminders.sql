-- rapport: no transaction
-- Reminders and recurrence of tasks. Each statement can be repeated.

-- `reminder_at`: `remind_at`, or so many minutes before the deadline. `next_task_id`: the task that followed when this one
-- was done. `unsent_…`: an instant whose message was not sent yet. `recurrence_time`: the time of the day of a series, on a
-- day whose clocks skip it.
alter table tasks
  add column if not exists remind_at timestamptz(3),
  add column if not exists remind_before integer,
  add column if not exists reminder_at timestamptz(3),
  add column if not exists recurrence text,
  add column if not exists next_task_id uuid,
  add column if not exists unsent_reminder_at timestamptz(3),
  add column if not exists unsent_deadline_at timestamptz(3),
  add column if not exists recurrence_time text;

drop index concurrently if exists tasks_unsent;
create index concurrently tasks_unsent on tasks (organization_id, least(unsent_reminder_at, unsent_deadline_at))
  where unsent_reminder_at is not null or unsent_deadline_at is not null;

-- Of the tasks that are there, those that become overdue from now on.
update tasks set unsent_deadline_at = deadline
where not done and assignee_id is not null and deadline > now() and unsent_deadline_at is null;
