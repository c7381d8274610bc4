-- Mail: the queue of what is to be sent, and the outbox of a service that has no mail server.

create table mails (
  -- A mail may belong to a person alone, so the id is the key.
  id uuid primary key,
  -- Whose owners may see it; null until it is composed, and for the mail of a person who is in no organization, or in
  -- several: nothing of one organization may reach another.
  organization_id uuid references organizations (id) on delete cascade,
  user_id uuid references users (id) on delete cascade,
  -- What else it is about, such as an invitation. No foreign key: records are of several kinds.
  record_id uuid,
  kind text not null check (kind in
    ('sign-up', 'verify-address', 'reset-password', 'invitation', 'new-device', 'account-changed')),
  recipient text not null,
  -- Lower case, the domain in its ASCII form: what makes two spellings one address.
  recipient_key text not null,
  -- What it tells, beside what is looked up when it is composed. Never a secret.
  facts jsonb not null default '{}',
  subject text,
  -- Text and HTML, encrypted under SECRET: they hold links that log someone in. Null before it is composed and once it
  -- was sent.
  body_sealed bytea,
  composed_at timestamptz(3),
  status text not null default 'queued' check (status in ('queued', 'sent', 'kept', 'failed', 'dropped')),
  -- Times that a process took it on.
  attempts integer not null default 0,
  -- While it is queued: when it may be taken on, which for one that somebody has is the end of the lease.
  run_at timestamptz(3) default now(),
  lease uuid,
  last_error text,
  sent_at timestamptz(3),
  ended_at timestamptz(3),
  -- Of a mail to nobody, whose address anyone may have typed.
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
-- How many a recipient got lately.
create index mails_recipient on mails (recipient_key, kind, created_at);
create index mails_ended on mails (ended_at, id) where ended_at is not null;
create index mails_dropped on mails (dropped_at, id) where dropped_at is not null;
