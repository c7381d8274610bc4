import { defineResource, narrowView, ownedBy } from '../../platform/records/declare/define.ts'
import {
  choice,
  email,
  flag,
  handle,
  id,
  longText,
  number,
  phone,
  reference,
  text,
  timestamp,
  timeZone,
  url,
  stringList,
} from '../../platform/records/declare/fields.ts'
import { emailList, phoneList } from '../../platform/records/declare/address-lists.ts'
import { properties } from '../../platform/records/declare/object-fields.ts'
import { customProperties, externalIds } from '../../platform/records/declare/json-objects.ts'
import { emailKey } from '../../platform/model/normalizers.ts'
import { addressFields } from '../address.ts'
import { companies } from '../companies/resource.ts'
import { teams } from '../../identity/teams/resource.ts'
import { maxNamePartLength, prepareContact } from './prepare.ts'
import type { JsonObject, JsonValue } from '../../platform/model/json.ts'

export const seniorities = [
  'junior',
  'mid',
  'senior',
  'executive',
  'entry',
  'intern',
  'manager',
  'director',
  'head',
  'vp',
  'partner',
  'c_suite',
  'founder',
  'owner',
] as const

/** Who can create contacts. */
export const contactSources = ['person', 'api_key', 'import'] as const
export type ContactSource = (typeof contactSources)[number]

export const contacts = defineResource({
  name: 'contacts',
  singular: 'contact',
  component: 'Contact',
  idPrefix: 'con',
  heading: 'People. `/api/teams` has the contacts of one team.',
  roleGroup: 'records',
  isErasable: true,
  hasViews: true,
  search: ['name', 'firstName', 'lastName', 'nickname', 'email', 'phone', 'employmentTitle', 'tags'],
  searchEmbedded: ['company.name'],
  searchFurther: { call: 'further_text', of: ['emails', 'phones'] },
  subtitleFields: ['employmentTitle', 'company.name'],
  hidden: { email_key: 'text', erased_at: 'timestamptz' },
  renderingVersion: 2,
  history: { except: [] },
  ownEventKinds: ['blocked', 'unblocked'],
  eventKind: ({ columns: { blocked_at: blocked } }) =>
    blocked === undefined ? undefined : blocked === null ? 'unblocked' : 'blocked',
  reach: ownedBy('ownerId', 'teamId'),
  uniques: {
    contacts_email_unique: {
      field: 'email',
      columns: ['email_key', 'team_id'],
      alsoIn: { table: 'contact_emails', owner: 'contact_id' },
    },
  },
  updateOptions: {
    keepFormerEmail: flag({
      label: 'Keep the former email',
      description: 'True to keep the address that a new `email` replaces, as a further one of `emails`',
      nullable: false,
    }),
    keepFormerPhone: flag({
      label: 'Keep the former phone',
      description: 'The same for `phone` and `phones`',
      nullable: false,
    }),
  },
  prepare: prepareContact,
  embedded: {
    company: {
      label: 'Company',
      through: 'companyId',
      resource: companies,
      show: ['id', 'name', 'domain'],
      orderBy: 'name',
    },
  },
  fields: {
    id: id('con'),
    email: email({
      label: 'Email',
      order: 'indexed',
      equality: 'indexed',
      searched: true,
      lookup: { column: 'email_key', key: emailKey },
    }),
    emails: emailList({
      label: 'Emails',
      description:
        'All email addresses, in order. `email` is the primary one. Each is unique within the team. A change replaces the whole list',
      primary: 'email',
    }),
    firstName: text({ label: 'First name', max: maxNamePartLength, searched: true }),
    lastName: text({ label: 'Last name', max: maxNamePartLength, order: 'indexed', searched: true }),
    phone: phone({ label: 'Phone', searched: true }),
    phones: phoneList({
      label: 'Phones',
      description: 'All phone numbers, in order. `phone` is the primary one. A change replaces the whole list',
      primary: 'phone',
    }),
    createdAt: timestamp({ label: 'Created at', readOnly: true, nullable: false, order: 'indexed' }),
    updatedAt: timestamp({ label: 'Updated at', readOnly: true, nullable: false, order: 'indexed' }),
    lastActivityAt: timestamp({
      label: 'Last activity at',
      description:
        'Time of the latest note, task or import of the contact, or of a note, task or stage move of one of its deals',
      readOnly: true,
      order: 'indexed',
      neverDecreases: true,
    }),
    tags: stringList({ label: 'Tags', equality: 'indexed' }),
    status: text({
      label: 'Status',
      description: 'Any text that the organization chooses',
      nullable: false,
      initial: 'active',
      max: 50,
    }),
    emailOptOut: flag({ label: 'Opted out of email', nullable: false, initial: false }),
    customProperties: properties({ label: 'Custom properties', ...customProperties, definable: true }),
    name: text({
      label: 'Name',
      description: 'Full name; follows first and last name',
      max: 2 * maxNamePartLength + 1,
      order: 'indexed',
      searched: true,
    }),
    nickname: text({ label: 'Nickname', searched: true }),
    bio: longText({ label: 'About' }),
    avatar: url({ label: 'Picture' }),
    website: url({ label: 'Website' }),
    location: text({ label: 'Location', max: 500 }),
    timeZone: timeZone({ label: 'Time zone' }),
    ...addressFields,
    latitude: number({ label: 'Latitude', min: -90, max: 90 }),
    longitude: number({ label: 'Longitude', min: -180, max: 180 }),
    employmentTitle: text({ label: 'Job title', max: 500, searched: true }),
    employmentSeniority: choice(seniorities, { label: 'Seniority' }),
    facebookHandle: handle({ label: 'Facebook' }),
    githubHandle: handle({ label: 'GitHub' }),
    instagramHandle: handle({ label: 'Instagram' }),
    linkedinHandle: handle({ label: 'LinkedIn' }),
    twitterHandle: handle({ label: 'X (Twitter)' }),
    externalIds: properties({
      label: 'External ids',
      description:
        'Ids by provider. The first letter of a provider’s name is stored in lower case: `HubSpot` becomes `hubSpot`',
      ...externalIds,
    }),
    rootContactId: reference('rcn', { label: 'Person', readOnly: true, nullable: false }),
    teamId: reference('tea', { label: 'Team', table: 'teams', nullable: false }),
    ownerId: reference('usr', {
      label: 'Owner',
      table: 'members',
      key: 'user_id',
      softDeleted: false,
      hasNoForeignKey: true,
      equality: 'indexed',
    }),
    blockedAt: timestamp({ label: 'Blocked at', readOnly: true }),
    source: choice(contactSources, {
      label: 'Source',
      description:
        'How it was created: by a `person` who is logged in, with an API key, or by an import; null if that was not recorded',
      readOnly: true,
    }),
    importId: reference('imp', {
      label: 'Import',
      description: 'The import that created it, even if that import has been deleted',
      readOnly: true,
      hasNoForeignKey: true,
      equality: 'indexed',
    }),
    // Must be last: it depends on the company, which follows the stored rendering.
    companyId: reference('com', { label: 'Company', table: 'companies', equality: 'indexed' }),
  },
})

/** The keys of the addresses that are not the primary one, of a list as the API shows it. */
export const furtherKeys = (emails: JsonValue | undefined): string[] =>
  (Array.isArray(emails) ? (emails as JsonObject[]) : [])
    .filter((entry) => entry.primary !== true)
    .map((entry) => emailKey(String(entry.address)))

/** The writable fields of the team-scoped contact, in the order of the response. */
const teamFields = [
  'name',
  'nickname',
  'bio',
  'avatar',
  'website',
  'location',
  'timeZone',
  'city',
  'state',
  'countryCode',
  'latitude',
  'longitude',
  'employmentTitle',
  'employmentSeniority',
]

/** The team-scoped contact: what the routes of a team show of a person. */
export const teamContacts = narrowView(contacts, {
  component: 'TeamContact',
  propertyNames: ['id', 'createdAt', 'updatedAt', 'blockedAt', ...teamFields, 'companyId', 'rootContactId'],
  writable: teamFields,
  parent: { parameter: 'teamId', resource: teams, column: 'team_id', isSmall: false },
})
