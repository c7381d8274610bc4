import { country, longText, text } from '../platform/records/declare/fields.ts'
import { derivedText } from '../platform/records/declare/object-fields.ts'

/** The postal address of a contact or a company. */
export const addressFields = {
  street: longText({
    label: 'Street',
    description: 'Street and number, and what else stands above the place; may have several lines',
    max: 500,
  }),
  postalCode: text({ label: 'Postal code', max: 20 }),
  city: text({ label: 'City' }),
  state: text({ label: 'State' }),
  countryCode: country({ label: 'Country' }),
  formattedAddress: derivedText({
    label: 'Address',
    description:
      'The address in one line, in the order that is usual in its country, with the English name of the country at its end',
    max: 2000,
    call: 'formatted_address',
    of: ['street', 'postalCode', 'city', 'state', 'countryCode'],
  }),
}
