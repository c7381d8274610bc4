import { getDomain } from 'tldts'
import { defineResource, type Prepared, ownedBy } from '../../platform/records/declare/define.ts'
import {
  decimal,
  domain,
  handle,
  id,
  integer,
  longText,
  reference,
  text,
  timestamp,
  timeZone,
  url,
  stringList,
} from '../../platform/records/declare/fields.ts'
import { properties } from '../../platform/records/declare/object-fields.ts'
import { customProperties, externalIds } from '../../platform/records/declare/json-objects.ts'
import { addressFields } from '../address.ts'
import type { JsonObject } from '../../platform/model/json.ts'

/** The registrable part of a domain, which identifies the company (`example.co.uk` for `mail.example.co.uk`). */
export const domainKey = (name: string): string => getDomain(name, { allowPrivateDomains: true }) ?? name

/** Companies are unique by registrable domain, which is stored in a hidden column. */
function prepare(values: JsonObject): Prepared {
  if (!('domain' in values)) return { values }
  const { domain: name } = values
  return { values, hidden: { domain_key: typeof name === 'string' ? domainKey(name) : null } }
}

export const companies = defineResource({
  name: 'companies',
  singular: 'company',
  component: 'Company',
  idPrefix: 'com',
  heading: 'Companies that contacts work for.',
  roleGroup: 'records',
  hasViews: true,
  search: ['name', 'nickname', 'domain', 'subtitle'],
  subtitleFields: ['subtitle'],
  hidden: { domain_key: 'text' },
  uniques: { companies_domain_unique: { field: 'domain', columns: ['domain_key'] } },
  renderingVersion: 2,
  history: { except: [] },
  reach: ownedBy('ownerId'),
  prepare,
  fields: {
    id: id('com'),
    name: text({ label: 'Name', description: 'Legal name', required: true, order: 'indexed', searched: true }),
    nickname: text({ label: 'Nickname', description: 'Brand name', searched: true }),
    bio: longText({ label: 'About' }),
    subtitle: text({ label: 'Subtitle', max: 500, searched: true }),
    avatar: url({ label: 'Logo' }),
    website: url({ label: 'Website' }),
    domain: domain({ label: 'Domain', equality: 'indexed', searched: true }),
    location: text({ label: 'Headquarters', max: 500 }),
    ...addressFields,
    timeZone: timeZone({ label: 'Time zone' }),
    facebookHandle: handle({ label: 'Facebook' }),
    githubHandle: handle({ label: 'GitHub' }),
    instagramHandle: handle({ label: 'Instagram' }),
    linkedinHandle: handle({ label: 'LinkedIn' }),
    twitterHandle: handle({ label: 'X (Twitter)' }),
    annualRevenue: decimal({ label: 'Annual revenue' }),
    employeesCount: integer({ label: 'Employees', min: 0, max: 2_000_000_000 }),
    foundedYear: integer({ label: 'Founded', min: 1, max: 9999, format: 'year' }),
    fundingStage: text({ label: 'Funding stage' }),
    fundingTotal: decimal({ label: 'Total funding' }),
    retailLocationsCount: integer({ label: 'Retail locations', min: 0, max: 2_000_000_000 }),
    ticker: text({ label: 'Ticker', max: 20 }),
    industries: stringList({ label: 'Industries' }),
    languages: stringList({ label: 'Languages' }),
    stack: stringList({ label: 'Technologies' }),
    tags: stringList({ label: 'Tags', equality: 'indexed' }),
    externalIds: properties({
      label: 'External ids',
      description:
        'Ids by provider. The first letter of a provider’s name is stored in lower case: `HubSpot` becomes `hubSpot`',
      ...externalIds,
    }),
    customProperties: properties({ label: 'Custom properties', ...customProperties, definable: true }),
    ownerId: reference('usr', {
      label: 'Owner',
      table: 'members',
      key: 'user_id',
      softDeleted: false,
      hasNoForeignKey: true,
      equality: 'indexed',
    }),
    lastActivityAt: timestamp({
      label: 'Last activity at',
      description:
        'Time of the latest note, task or import of the company or of one of its contacts, or of a note, task or stage move of one of its deals',
      readOnly: true,
      order: 'indexed',
      neverDecreases: true,
    }),
    createdAt: timestamp({ label: 'Created at', readOnly: true, nullable: false, order: 'indexed' }),
    updatedAt: timestamp({ label: 'Updated at', readOnly: true, nullable: false, order: 'indexed' }),
  },
})
