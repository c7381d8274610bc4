import type { ComponentProps } from 'react'
import { SelectField } from './field.tsx'

/** Browsers do not list `UTC`. */
const listed = ['UTC', ...Intl.supportedValuesOf('timeZone')]

/** Selects a time zone by its IANA name. `current`: the service may know a zone that this browser does not. */
export function TimeZoneField({
  current,
  ...field
}: Omit<ComponentProps<typeof SelectField>, 'options'> & { current: string }) {
  const zones = listed.includes(current) ? listed : [current, ...listed]
  return (
    <SelectField
      {...field}
      defaultValue={current}
      options={zones.map((value) => ({ value, label: value.replaceAll('_', ' ') }))}
    />
  )
}
