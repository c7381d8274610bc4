import { raw, type Sql } from '../../platform/model/sql.ts'
import { reachConditions } from '../../platform/records/filter/scope.ts'
import { companies } from '../../crm/companies/resource.ts'
import { contacts } from '../../crm/contacts/resource.ts'
import type { Reader } from '../../platform/model/caller.ts'
import type { Reach } from '../../platform/records/declare/define.ts'

/** A push contains the person's data: who does not see all contacts sees only those of their own contacts. */
export const rowReach: Reach = {
  follows: [
    { resource: contacts, column: 'contact_id', isRequired: true },
    { resource: companies, column: 'company_id' },
  ],
}

/** The bounds of the rows, in the table `import_rows`, that the reader sees; empty if they see all of them. */
export const rowBounds = (organization: Sql, reader: Reader | undefined): Sql[] =>
  reader
    ? reachConditions({ reach: rowReach, singular: 'row' }, { organization, actor: reader }, raw('import_rows'))
    : []

/** Does the reader see every contact and company, and so every push? */
export const seesEveryPush = ({ reach }: Pick<Reader, 'reach'>): boolean =>
  reach?.levels.contact === undefined && reach?.levels.company === undefined
