-- Moves the renderings out of the tables of contacts and companies (docs/decisions/0010-rendered-contacts.md): they
-- made up two thirds of the data that every scan reads, and a new field rewrote the whole table.
--
-- A rendering is valid while its version equals that of the declaration, and its `source_xmin` and `source_ctid` equal
-- those of the record. Any other write of the record makes it invalid, and the record is then rendered when it is read.
-- Correctness therefore does not depend on a foreign key, and the trigger only deletes renderings that are never read
-- again.
--
-- Dropping the columns rewrites nothing. The background refresh renders existing records.
alter table contacts drop column document;
drop function contact_document;
alter table companies drop column document;
drop function company_document;

create function contact_document(record contacts) returns text language plpgsql immutable parallel safe as $$
begin
  return '{' ||
    '"id":"con_' || replace(record.id::text, '-', '') || '"' || ',' ||
    '"email":' || coalesce(to_json(record.email)::text, 'null') || ',' ||
    '"firstName":' || coalesce(to_json(record.first_name)::text, 'null') || ',' ||
    '"lastName":' || coalesce(to_json(record.last_name)::text, 'null') || ',' ||
    '"phone":' || coalesce(to_json(record.phone)::text, 'null') || ',' ||
    '"createdAt":"' || to_char(record.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"' || ',' ||
    '"updatedAt":"' || to_char(record.updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"' || ',' ||
    '"lastActivityAt":' || coalesce('"' || to_char(record.last_activity_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"', 'null') || ',' ||
    '"tags":' || case record.tags when '{}' then '[]' else array_to_json(record.tags)::text end || ',' ||
    '"status":' || to_json(record.status)::text || ',' ||
    '"emailOptOut":' || case when record.email_opt_out then 'true' else 'false' end || ',' ||
    '"customProperties":' || record.custom_properties::text || ',' ||
    '"name":' || coalesce(to_json(record.name)::text, 'null') || ',' ||
    '"nickname":' || coalesce(to_json(record.nickname)::text, 'null') || ',' ||
    '"bio":' || coalesce(to_json(record.bio)::text, 'null') || ',' ||
    '"avatar":' || coalesce(to_json(record.avatar)::text, 'null') || ',' ||
    '"website":' || coalesce(to_json(record.website)::text, 'null') || ',' ||
    '"location":' || coalesce(to_json(record.location)::text, 'null') || ',' ||
    '"timeZone":' || coalesce(to_json(record.time_zone)::text, 'null') || ',' ||
    '"city":' || coalesce(to_json(record.city)::text, 'null') || ',' ||
    '"state":' || coalesce(to_json(record.state)::text, 'null') || ',' ||
    '"countryCode":' || coalesce(to_json(record.country_code)::text, 'null') || ',' ||
    '"latitude":' || coalesce(record.latitude::text, 'null') || ',' ||
    '"longitude":' || coalesce(record.longitude::text, 'null') || ',' ||
    '"employmentTitle":' || coalesce(to_json(record.employment_title)::text, 'null') || ',' ||
    '"employmentSeniority":' || coalesce(to_json(record.employment_seniority)::text, 'null') || ',' ||
    '"facebookHandle":' || coalesce(to_json(record.facebook_handle)::text, 'null') || ',' ||
    '"githubHandle":' || coalesce(to_json(record.github_handle)::text, 'null') || ',' ||
    '"instagramHandle":' || coalesce(to_json(record.instagram_handle)::text, 'null') || ',' ||
    '"linkedinHandle":' || coalesce(to_json(record.linkedin_handle)::text, 'null') || ',' ||
    '"twitterHandle":' || coalesce(to_json(record.twitter_handle)::text, 'null') || ',' ||
    '"externalIds":' || record.external_ids::text || ',' ||
    '"rootContactId":"rcn_' || replace(record.root_contact_id::text, '-', '') || '"' || ',' ||
    '"teamId":"tea_' || replace(record.team_id::text, '-', '') || '"' || ',' ||
    '"ownerId":' || coalesce('"usr_' || replace(record.owner_id::text, '-', '') || '"', 'null') || ',' ||
    '"blockedAt":' || coalesce('"' || to_char(record.blocked_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"', 'null');
end
$$;

-- The same by key. In a function, because otherwise every page would also plan this rarely needed read of the table.
create function contact_document(of_organization uuid, of_id uuid) returns text language plpgsql stable parallel safe as $$
begin
  return (select contact_document(record) from contacts record
    where record.organization_id = of_organization and record.id = of_id);
end
$$;

create table contact_renderings (
  organization_id uuid not null,
  contact_id uuid not null,
  version integer not null,
  source_xmin xid not null,
  source_ctid tid not null,
  document text not null,
  primary key (organization_id, contact_id)
) with (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.03, autovacuum_vacuum_insert_scale_factor = 0.1,
  autovacuum_analyze_scale_factor = 0.03);
-- No query filters by these texts, so they need no statistics.
alter table contact_renderings alter column document set statistics 0;

create function delete_contact_rendering() returns trigger language plpgsql as $$
begin
  delete from contact_renderings where organization_id = old.organization_id and contact_id = old.id;
  return null;
end $$;
create trigger contacts_rendering after delete on contacts
  for each row execute function delete_contact_rendering();

create function company_document(record companies) returns text language plpgsql immutable parallel safe as $$
begin
  return '{' ||
    '"id":"com_' || replace(record.id::text, '-', '') || '"' || ',' ||
    '"name":' || to_json(record.name)::text || ',' ||
    '"nickname":' || coalesce(to_json(record.nickname)::text, 'null') || ',' ||
    '"bio":' || coalesce(to_json(record.bio)::text, 'null') || ',' ||
    '"subtitle":' || coalesce(to_json(record.subtitle)::text, 'null') || ',' ||
    '"avatar":' || coalesce(to_json(record.avatar)::text, 'null') || ',' ||
    '"website":' || coalesce(to_json(record.website)::text, 'null') || ',' ||
    '"domain":' || coalesce(to_json(record.domain)::text, 'null') || ',' ||
    '"location":' || coalesce(to_json(record.location)::text, 'null') || ',' ||
    '"timeZone":' || coalesce(to_json(record.time_zone)::text, 'null') || ',' ||
    '"facebookHandle":' || coalesce(to_json(record.facebook_handle)::text, 'null') || ',' ||
    '"githubHandle":' || coalesce(to_json(record.github_handle)::text, 'null') || ',' ||
    '"instagramHandle":' || coalesce(to_json(record.instagram_handle)::text, 'null') || ',' ||
    '"linkedinHandle":' || coalesce(to_json(record.linkedin_handle)::text, 'null') || ',' ||
    '"twitterHandle":' || coalesce(to_json(record.twitter_handle)::text, 'null') || ',' ||
    '"annualRevenue":' || coalesce('"' || record.annual_revenue::text || '"', 'null') || ',' ||
    '"employeesCount":' || coalesce(record.employees_count::text, 'null') || ',' ||
    '"foundedYear":' || coalesce(record.founded_year::text, 'null') || ',' ||
    '"fundingStage":' || coalesce(to_json(record.funding_stage)::text, 'null') || ',' ||
    '"fundingTotal":' || coalesce('"' || record.funding_total::text || '"', 'null') || ',' ||
    '"retailLocationsCount":' || coalesce(record.retail_locations_count::text, 'null') || ',' ||
    '"ticker":' || coalesce(to_json(record.ticker)::text, 'null') || ',' ||
    '"industries":' || case record.industries when '{}' then '[]' else array_to_json(record.industries)::text end || ',' ||
    '"languages":' || case record.languages when '{}' then '[]' else array_to_json(record.languages)::text end || ',' ||
    '"stack":' || case record.stack when '{}' then '[]' else array_to_json(record.stack)::text end || ',' ||
    '"tags":' || case record.tags when '{}' then '[]' else array_to_json(record.tags)::text end || ',' ||
    '"externalIds":' || record.external_ids::text || ',' ||
    '"customProperties":' || record.custom_properties::text || ',' ||
    '"lastActivityAt":' || coalesce('"' || to_char(record.last_activity_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"', 'null') || ',' ||
    '"createdAt":"' || to_char(record.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"' || ',' ||
    '"updatedAt":"' || to_char(record.updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"';
end
$$;

-- The same by key. In a function, because otherwise every page would also plan this rarely needed read of the table.
create function company_document(of_organization uuid, of_id uuid) returns text language plpgsql stable parallel safe as $$
begin
  return (select company_document(record) from companies record
    where record.organization_id = of_organization and record.id = of_id);
end
$$;

create table company_renderings (
  organization_id uuid not null,
  company_id uuid not null,
  version integer not null,
  source_xmin xid not null,
  source_ctid tid not null,
  document text not null,
  primary key (organization_id, company_id)
) with (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.03, autovacuum_vacuum_insert_scale_factor = 0.1,
  autovacuum_analyze_scale_factor = 0.03);
-- No query filters by these texts, so they need no statistics.
alter table company_renderings alter column document set statistics 0;

create function delete_company_rendering() returns trigger language plpgsql as $$
begin
  delete from company_renderings where organization_id = old.organization_id and company_id = old.id;
  return null;
end $$;
create trigger companies_rendering after delete on companies
  for each row execute function delete_company_rendering();
