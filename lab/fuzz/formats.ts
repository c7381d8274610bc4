/** The formats of the contract as used in responses. */
export const formats: Record<string, RegExp> = {
  'date-time': /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/,
  email: /^[^\s@]+@[^\s@]+$/,
  phone: /^\+[1-9]\d{6,14}$/,
  uri: /^https?:\/\/\S+$/,
  hostname: /^[a-z0-9-]+(\.[a-z0-9-]+)+$/,
  'time-zone': /^[A-Za-z_+\-/0-9]+$/,
  'country-code': /^[A-Z]{2}$/,
  date: /^\d{4}-\d{2}-\d{2}$/,
  'currency-code': /^[A-Z]{3}$/,
  'year-month': /^\d{4}-\d{2}$/,
  'property-key': /^[A-Za-z][A-Za-z0-9_]*$/,
}
