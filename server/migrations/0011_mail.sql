-- The queue of mails, and the outbox of a service without a mail server.

create table mails (
  -- A mail can belong to a person without an organization, so the key is only the id.
  id uuid primary key,
  -- The organization whose owners can see the mail. Null until it is composed, and for mails of a person who is in no
  -- organization or in several, because they could reveal data of one organization to another.
  organization_id uuid references organizations (id) on delete cascade,
  user_id uuid references users (id) on delete cascade,
  -- Another record that the mail is about, such as an invitation. No foreign key, because it can be of several kinds.
  record_id uuid,
  kind text not null check (kind in
    ('sign-up', 'verify-address', 'reset-password', 'invitation', 'new-device', 'account-changed')),
  recipient text not null,
  -- Lower case, with the domain in ASCII form: equal keys mean the same address.
  recipient_key text not null,
  -- Data for the text, in addition to the data that is looked up when the mail is composed. Never contains a secret.
  facts jsonb not null default '{}',
  subject text,
  -- Text and HTML, encrypted with SECRET, because they contain links that log a person in. Null before the mail is
  -- composed and after it was sent.
  body_sealed bytea,
  composed_at timestamptz(3),
  status text not null default 'queued' check (status in ('queued', 'sent', 'kept', 'failed', 'dropped')),
  -- Number of attempts to send it.
  attempts integer not null default 0,
  -- When a queued mail can be sent. For a claimed mail, when its lease expires.
  run_at timestamptz(3) default now(),
  lease uuid,
  last_error text,
  sent_at timestamptz(3),
  ended_at timestamptz(3),
  -- When a mail without a valid recipient was dropped. Anyone could have entered its address.
  dropped_at timestamptz(3),
  revision integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  constraint mails_queued_have_a_time check ((status = 'queued') = (run_at is not null)),
  constraint mails_ended_have_a_time check ((status = 'queued') = (ended_at is null))
);
create index mails_queue on mails (run_at, id) where status = 'queued';
create index mails_created on mails (organization_id, created_at, id) where organization_id is not null;
create index mails_user on mails (user_id);
-- Counts the recent mails of a recipient.
create index mails_recipient on mails (recipient_key, kind, created_at);
create index mails_ended on mails (ended_at, id) where ended_at is not null;
create index mails_dropped on mails (dropped_at, id) where dropped_at is not null;
