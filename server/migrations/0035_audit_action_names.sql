-- Three actions of the audit log get standard names. The log stays append-only: the trigger is off only for this update.
alter table audit_events disable trigger audit_events_not_updated;
update audit_events set action = case action
    when 'proof.given' then 'reauthentication.succeeded'
    when 'proof.failed' then 'reauthentication.failed'
    else 'session.token-reused'
  end
where action in ('proof.given', 'proof.failed', 'session.misused');
alter table audit_events enable trigger audit_events_not_updated;
