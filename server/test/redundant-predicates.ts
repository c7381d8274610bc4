import type { RedundantPredicate } from './planted-faults.ts'

/**
 * Predicates that can be removed without an effect, each with the rule that protects the data instead, or with the test
 * that fails without the predicate. They are identified by the route and the text before them.
 */
export const redundantPredicates: readonly RedundantPredicate[] = [
  {
    reason:
      'pending-events.test.ts: reading a log moves the pending events of its organization only (what is stored here is rolled back)',
    location: /audit-log.* from pending_events where $/s,
  },
  {
    reason: 'the foreign key includes the organization: a record cannot embed one of another organization',
    location:
      /"(companies|pipelines|stages|contacts|deals|tasks|note_analyses)" (company|pipeline|stage|contact|analysis|result(Task|Deal|Contact)) (on|where) \w+\.$/,
  },
  {
    reason:
      'a deal is read together with its stage, and a stage with its pipeline; their foreign keys include the organization',
    location:
      /from "deals" record join stages weight on weight\.($|.* where record\.$)|from stages stage join pipelines pipeline on pipeline\.($|.* where stage\.$)/,
  },
  {
    reason: 'the stage of a deal is found twice: as a reference and, locked, with its pipeline',
    location:
      / select "id" as id from "stages" where $|restore .*with oldest as materialized \(\s+select id from pipe/s,
  },
  {
    reason: 'the deals of a stage or a pipeline that was found within the organization',
    location: /select (position|count\(\*\)::text as count, .* as seen) from deals where $/,
  },
  {
    reason: 'a deal is placed next to another one only if that is in the stage that was found within the organization',
    location:
      /\/move .*(from deals (other where other|neighbor where neighbor)\.$|all of\s+select neighbor\.stage_id)|\/move .*position from deals neighbor where neighbor\.$/s,
  },
  {
    reason: 'planted-fault-properties.test.ts covers the statements about the definitions of custom properties',
    location:
      /(property_sets|property_sets join .* using \(resource\)|property_sets set .*|from properties( record)?|custom_properties -> \$::text as value(, .* record| from "deals")|"deal_unique_values") where $|from unfit join "deals" record on record\.$|^\w+ \/v5\/properties\S* all of (select credential\.live|\s+with batch as materialized|\s+select \(select row_to_json)/,
  },
  {
    reason:
      'an index belongs to a property, and that to one organization; property-indexes-faults.test.ts covers its entries',
    location: /(update property_indexes set state = 'dropped'|from property_indexes) where $/,
  },
  {
    reason: 'the state, the secrets and the deliveries of a webhook that was found within the organization',
    location:
      /from webhook_states state where state\.$|(update|delete from) webhook_secrets (.*)?where $|webhook_(deliveries|states) set .* where $|\/deliveries\/replay all of select count|\/test +select id from "webhooks" where $/,
  },
  {
    reason: 'selection.test.ts replays events since a time, next to the feeds of other organizations',
    location:
      /\{webhookId\}\/replay .*(from events where|join event_feeds feed on feed\.|where state\.|join events event on event\.)$|\{webhookId\}\/replay all of\s+select (feed\.last_position|count)/,
  },
  {
    reason: 'a new view comes after those of the same person',
    location: /from views where $/,
  },
  {
    reason: 'the stages of a pipeline that was found within the organization',
    location: /select id, position from stages where $/,
  },
  {
    reason: 'the oldest pipeline matters only for a new deal without a stage and a pipeline',
    location: /\/v5\/deals\/\{dealId\}\S* +with oldest as materialized \( select id from pipelines where $/,
  },
  {
    reason: 'a record is read together with its parent, and the foreign key between them includes the organization',
    location:
      /from "?\w+"? record( left join .*)? where record\.$|person on person\.deleted_at is null where record\.$|(company|contact|resultContact) on \w+\.deleted_at is null where record\.$|(rendering|analysis) on true where record\.$|from "\w+" parent where parent\.$/,
  },
  {
    reason: 'the rows were read and locked within the organization before they are written',
    location:
      /from input where record\.$|rows\/(retry|cancel) .*( select id(, import_id as "importId", status)? from import_rows|updated_at = now\(\)) where $|\{rowId\} +update import_rows set payload = .* where $/,
  },
  {
    reason:
      'entries.test.ts: “a person who is removed leaves nothing behind in the inbox”, but in that of another organization',
    location: /members\/\{memberId\} +delete from "inbox_\w+" where $/,
  },
  {
    reason: 'the foreign key includes the organization: a team belongs to the organization of its members',
    location: /deleted from teams where $|teams\/\{teamId\} +select id from (contacts|imports) where $/,
  },
  {
    reason: 'an address or external id is looked up within a team, which belongs to one organization',
    location:
      /(select "?id"?( as id)? from "contacts"|select "contact_id" as id from "(contact_external_ids" held|contact_emails")|select (id from contacts|contact_id from contact_emails) held) where $/,
  },
  {
    reason:
      'the directory found the import of the URL together with its organization, in which the insert reads it again',
    location: /trigger\/\{hash\} select id from imports where $/,
  },
  {
    reason: 'the contact was read and locked within the organization before its root contact is noted',
    location:
      /insert into root_contacts_left \(.*\) select organization_id, root_contact_id from contacts where $|jsonb_array_elements\(contact\.emails\) entry, root_contacts root where contact\.$/,
  },
  {
    reason: 'a rendering is valid only together with the row that it was made from',
    location: /from "\w+_renderings" where $/,
  },
  {
    reason: 'the ids are those of the records that the statement has just written',
    location:
      /all of select \(select row_to_json\(properties\)|(delete from ("\w+_external_ids"|contact_emails)|jsonb_each_text\(external_ids\) external|jsonb_array_elements\(emails\) entry|select "\w+" from "\w+") where $/,
  },
  {
    reason:
      'the records with activity were found within the organization, and the foreign keys between them include it',
    location:
      /(last_activity_at = now\(\) from \( select id|select (contact|company)_id) from "?\w+"? where $|active where record\.$/,
  },
  {
    reason: 'the assignee of a task was found among the members of the organization',
    location: /left join members on members\.$/,
  },
  {
    reason: 'the foreign key includes the organization: only a member of the organization can be an author',
    location: /select from members where $/,
  },
  {
    reason: 'the import was found within the organization, and its id is unique: the stats are of its own rows',
    location:
      /(select created_at as oldest from import_rows|as recent from import_row_counts|sum\(count\) from refused_push_counts|from refused_pushes|\* from refused_senders|from import_pushed_bytes|select created_at from suggestions) where $/,
  },
  {
    reason: 'the refused push was found within the organization, and its foreign key includes that of its import',
    location: /refused-pushes\/\{refusedPushId\}\/accept +select id from "imports" where $/,
  },
  {
    reason: 'the import was found within the organization, and the foreign key of a suggestion’s contact includes it',
    location:
      /opt-outs\/(accept|reject) .*(suggestions record join contacts on|all of\s+select record\.id, record\.contact_id)/s,
  },
  {
    reason: 'record-limits.test.ts fills an organization, after which another one still creates the same',
    location: / select (id from teams|count\(\*\)::integer as count from "\w+") where $/,
  },
  {
    reason: 'mail-outbox.test.ts reads with the key of a person who is an owner of another organization only',
    location: /mails\/\{mailId\}\/content +select role from members where $/,
  },
  {
    reason:
      'example-data.test.ts fills two organizations and empties one of them; the ids of the others come from there',
    location: /^(POST|DELETE) \/v5\/example-data /,
  },
  {
    reason: 'the import was read and locked within the organization before its URLs are changed',
    location:
      /(update "import_(triggers|secrets)" set expires_at = .*|delete from "import_(triggers|secrets)" )where $/,
  },
  {
    reason: 'the team was found within the organization by a statement before',
    location:
      /\/v5\/teams\/\{teamId\}\/members\S* (all of select credential\.live as credential_live, result\.\* from \(se| select id from teams where | delete from team_members where )$/,
  },
  {
    reason: 'the team was read and locked within the organization before its members are marked',
    location: /update team_members set team_deleted = .* where $/,
  },
  {
    reason: 'the record was read and locked within the organization before it or its dependents are changed',
    location:
      /delete from "(sso_connections|domains)" where $|(select hash from api_keys|delete from api_key_previous_hashes|update api_key_previous_hashes set .*|delete from one_time_tokens .* and )( where)? ?$/,
  },
  {
    reason: 'a person has the same name in every organization; in the list of members a missing predicate is detected',
    location: /"member_people" person where person\.$/,
  },
  {
    reason:
      'members.test.ts: “a removed person loses access immediately, and stays logged in and in their other organizations”',
    location: /delete from members where $/,
  },
  {
    reason: 'members.test.ts: “the last owner cannot be demoted or removed and cannot leave”',
    location: /select user_id as id, role, .* from members join users on users\.id = members\.user_id where $/,
  },
  {
    reason: 'invitations.test.ts: “a person with an account must log in, and can join only with the invited address”',
    location: /select members\.id from members join users on users\.id = members\.user_id where members\.$/,
  },
  {
    reason: 'invitations.test.ts: “an organization can send a hundred invitations an hour; others are not affected”',
    location:
      /invitations(\/\{invitationId\}\/resend)? (.*select created_at from mails where |all of\s+select ceil\(extract.*)$/s,
  },
  {
    reason:
      'outbox-links.test.ts: the tests of invitations that are deleted when a person joins, or expire with a role',
    location: /\/v5\/members\/\{memberId\} .*(delete from invitations|update invitations set .*) where $/s,
  },
  {
    reason: 'roles.test.ts: “a role of another organization does not exist, whatever its scopes are”',
    location: /select (scopes, reach from roles|"id" as id from "roles") where $/,
  },
  {
    reason: 'a role belongs to one organization, and so do the members, invitations and keys that have it',
    location:
      /\/v5\/roles\/\{roleId\}(\/restore)? .*(count\(\*\) from members|select user_id from (former_)?members|user_id = created_by where api_keys\.$|all of\s+update api_keys)/s,
  },
  {
    reason: 'a key with another version is only read again',
    location: /update api_keys set version = version \+ 1 where $/,
  },
  {
    reason: 'the suggestion was read and locked within the organization, and so was the record that it is about',
    location:
      /\/accept .*(\(select (coalesce\(name, email, phone\)|name) from (contacts|companies|deals) where $|all of\s+select coalesce\(\s+\(select coalesce\(name|select "id" as id from "companies" where $)/s,
  },
  {
    reason: 'the note was read and locked within the organization before its suggestions end',
    location: /( update suggestions set status = .* where $|all of\s+update suggestions set status = )/s,
  },
  {
    reason: 'erasure.test.ts: “nothing of another organization that knows the same person changes”',
    location: /^POST \/v5\/contacts\/\{contactId\}\/erase /,
  },
  {
    reason: 'addresses.test.ts: “two organizations have the same addresses, and neither changes those of the other”',
    location:
      /contacts\/\{contactId\}(\/restore)? .*(jsonb_array_elements\(contact\.emails\) entry, root_contacts root where .*|select id, email_key, is_further from root_contacts where $)/s,
  },
  {
    reason:
      'replay.test.ts: “a dry run counts the events that a replay would send”: all organizations have its positions',
    location: /\/replay .*select created_at < .* as "isBefore", "position" from events where $/s,
  },
  {
    reason: 'a change by filter reads the import twice: to lock it, and with the count of the remaining rows',
    location: /rows\/(retry|cancel) ( select id from "imports" where |all of select count\(\*\).*)$/,
  },
]
