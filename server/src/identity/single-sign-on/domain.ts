import { defineResource } from '../../platform/records/declare/define.ts'
import { domain, id, text, timestamp } from '../../platform/records/declare/fields.ts'

/** A domain that the organization claims and verifies with a DNS record. */
export const domains = defineResource({
  name: 'domains',
  singular: 'domain',
  component: 'Domain',
  isInDirectory: true,
  idPrefix: 'dom',
  heading: 'Domains that the organization has verified. People with an address there can join without an invitation.',
  roleGroup: 'administration',
  titleField: 'domain',
  isSmall: true,
  softDelete: false,
  uniques: { domains_domain_unique: { field: 'domain', columns: ['domain'] } },
  fields: {
    id: id('dom'),
    domain: domain({ label: 'Domain', description: 'Domain of email addresses, without the `@`', required: true }),
    recordName: text({
      label: 'Record name',
      description: 'Name of the TXT record to set',
      readOnly: true,
      nullable: false,
    }),
    recordValue: text({
      label: 'Record value',
      description: 'Value of the TXT record to set',
      readOnly: true,
      nullable: false,
    }),
    verifiedAt: timestamp({
      label: 'Verified at',
      description: 'Null until the record has been found',
      readOnly: true,
    }),
    createdAt: timestamp({ label: 'Created at', readOnly: true, nullable: false, order: 'indexed' }),
    updatedAt: timestamp({ label: 'Updated at', readOnly: true, nullable: false }),
  },
})
