-- Until now, activity on a contact did not count for its company.
update companies set last_activity_at = active.last_activity_at
from (
  select organization_id, company_id, max(last_activity_at) as last_activity_at from contacts
  where company_id is not null and last_activity_at is not null and deleted_at is null
  group by organization_id, company_id) active
where companies.organization_id = active.organization_id and companies.id = active.company_id;
