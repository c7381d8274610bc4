import { defineResource } from '../../platform/resource/define.ts'
import { domain, id, text, timestamp } from '../../platform/resource/fields.ts'

/** A domain that the organization says is its own, and can prove by a record in its DNS. */
export const domains = defineResource({
  name: 'domains',
  singular: 'domain',
  component: 'Domain',
  idPrefix: 'dom',
  softDelete: false,
  uniques: { domains_domain_unique: { field: 'domain', columns: ['domain'] } },
  fields: {
    id: id('dom'),
    domain: domain({ label: 'Domain', description: 'Of mail addresses, without the `@`', required: true }),
    recordName: text({
      label: 'Record name',
      description: 'Of the TXT record to set',
      readOnly: true,
      nullable: false,
    }),
    recordValue: text({ label: 'Record value', description: 'What that record says', readOnly: true, nullable: false }),
    verifiedAt: timestamp({ label: 'Verified at', description: 'Null until the record was found', readOnly: true }),
    createdAt: timestamp({ label: 'Created at', readOnly: true, nullable: false, order: 'indexed' }),
    updatedAt: timestamp({ label: 'Updated at', readOnly: true, nullable: false }),
  },
})
