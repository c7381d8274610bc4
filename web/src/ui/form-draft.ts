import { type RefObject, useLayoutEffect, useState } from 'react'
import { readJsonDraft, storeDraft } from '../preferences/drafts.ts'

type Input = HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement

/** Passwords and codes are never stored, not even a revealed password. */
const isStorable = (element: Element): element is Input =>
  element.matches('[name]:is(input, textarea, select):not([data-secret], [autocomplete=one-time-code])')

const isChecked = (input: Input): input is HTMLInputElement =>
  input instanceof HTMLInputElement && (input.type === 'checkbox' || input.type === 'radio')

const inputsOf = (form: HTMLFormElement | null): Input[] => [...(form?.elements ?? [])].filter(isStorable)

/** Stores the values of a form's uncontrolled inputs, and restores them after a reload. */
export function useFormDraft(form: RefObject<HTMLFormElement | null>, name: string | undefined) {
  const [isRestored] = useState(() => name !== undefined && readJsonDraft(name) !== undefined)
  useLayoutEffect(() => {
    if (name === undefined) return undefined
    const stored = readJsonDraft(name)
    if (typeof stored === 'object' && stored !== null) {
      for (const input of inputsOf(form.current)) {
        const value = (stored as Record<string, unknown>)[input.name]
        if (isChecked(input)) input.checked = value === true
        else if (typeof value === 'string') input.value = value
      }
    }
    return () => storeDraft(name, undefined)
  }, [form, name])
  const store = () => {
    if (name === undefined) return
    const values = inputsOf(form.current).map((input) => [input.name, isChecked(input) ? input.checked : input.value])
    storeDraft(name, JSON.stringify(Object.fromEntries(values)))
  }
  const forget = () => name !== undefined && storeDraft(name, undefined)
  return { isRestored, store, forget }
}
