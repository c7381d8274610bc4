import { domainFragment } from '../../model/internet-names.ts'
import { phoneFragment } from '../../model/phone.ts'
import { trimmed, withoutInvisible } from '../../model/text.ts'
import type { Field } from '../declare/field.ts'

type StoredForm = { value: string } | { error: string }

/** The value in the form that a write of the field stores, or why the field can never have it. */
export function toStoredForm(field: Field, text: string): StoredForm {
  if (field.filter === 'array') return notBlank(trimmed(text))
  if (!field.normalize) return { value: field.type === 'choice' ? trimmed(text) : text }
  const form = field.type === 'longText' ? { value: text.normalize('NFC') } : formOf(field, trimmed(text))
  return 'error' in form ? { error: `${form.error}${plusHint(field, text)}` } : form
}

const notBlank = (value: string): StoredForm => (value === '' ? { error: 'must not be blank' } : { value })

function formOf({ normalize }: Field, text: string): StoredForm {
  if (text === '') return { error: 'must not be blank' }
  const form = normalize?.(text) ?? { value: text }
  return 'error' in form ? form : { value: String(form.value) }
}

/** A plus that is not encoded in a URL arrives as a space. */
function plusHint(field: Field, text: string): string {
  const meant = [text.replace(/^ /, '+'), text.replaceAll(' ', '+')].filter((form) => form !== text)
  return meant.some((form) => 'value' in formOf(field, form)) ? ' (write + as %2B in a URL)' : ''
}

export function fragmentForm({ type }: Field, text: string): string {
  if (type === 'phone') return phoneFragment(text) ?? text
  if (type === 'domain') return domainFragment(text)
  return type === 'handle' ? text.replace(/^@/, '') : text
}

export const propertyForm = ({ keyForm }: Field, text: string): string =>
  keyForm ? withoutInvisible(text) : text.normalize('NFC')
