import { useTranslations } from 'use-intl'
import { type FieldSchema, useSchema } from '../api/schema.ts'
import { useLabel } from '../messages/labels.ts'

/** For each part of a push, the resource that has its fields, and the name of a field there if it differs. */
const resourceOf = { contact: 'contacts', company: 'companies', employment: 'employments' } as const
type Part = keyof typeof resourceOf
const otherNames: Readonly<Record<string, string>> = {
  'contact.domain': 'companies.domain',
  'employment.title': 'contacts.employmentTitle',
  'employment.seniority': 'contacts.employmentSeniority',
  'employment.organization': 'employments.organization',
}

const isPart = (name: string): name is Part => name in resourceOf

/** Labels and sentences about the fields of a push, in the language of the page. */
export function useFieldTexts() {
  const t = useTranslations('imports')
  const resources = useSchema()
  const translated = useLabel()
  const fieldAt = (path: string): FieldSchema | undefined => {
    const [part = '', ...rest] = path.split('.')
    const name = rest.filter((step) => step !== 'history' && !/^\d+$/.test(step)).at(0) ?? ''
    const isJob = rest[0] === 'history'
    const found =
      (isJob ? undefined : otherNames[`${part}.${name}`]) ?? (isPart(part) ? `${resourceOf[part]}.${name}` : '')
    const [resource = '', fieldName = ''] = found.split('.')
    return resources
      .find((one) => one.name === resource)
      ?.fields.find((field) => field.name.toLowerCase() === fieldName.toLowerCase())
  }
  return {
    labelOf: (path: string): string => {
      if (path === 'contact.note') return t('note')
      const field = fieldAt(path)
      // Unknown fields keep the sender's name.
      return field ? translated(field.label) : path.split('.').slice(1).join('.') || path
    },
    groupOf: (path: string): string => {
      const [part = '', history, index] = path.split('.')
      if (history === 'history' && index !== undefined) return t('employmentNumber', { number: Number(index) + 1 })
      return isPart(part) ? t(part) : t('otherFields')
    },
    /** The message of a finding in the page's language, if the type of the field shows what is expected. */
    sentenceOf: (path: string, message: string): string => {
      if (message.startsWith('is required')) return path === 'contact.email' ? t('addressRequired') : t('required')
      if (message.startsWith('unknown field')) return t('unknownField')
      const type = fieldAt(path)?.type
      const key = `expected.${type}`
      return message.startsWith('expected') && type !== undefined && t.has(key as never) ? t(key as never) : message
    },
  }
}
