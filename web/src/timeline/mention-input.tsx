import {
  type ChangeEvent,
  type ComponentProps,
  type KeyboardEvent,
  type SyntheticEvent,
  useId,
  useImperativeHandle,
  useState,
} from 'react'
import { useFormatter, useTranslations } from 'use-intl'
import { useResource } from '../api/schema.ts'
import { mentionOf, mentionsIn } from '../ui/mentions.ts'
import { SuggestionList } from '../views/suggestion-list.tsx'
import { stepOf, type Suggestion, useSuggestions } from '../views/suggestions.ts'
import styles from './timeline.module.css'

interface MentionInputProps extends Omit<ComponentProps<'textarea'>, 'onChange' | 'value'> {
  value: string
  onText(text: string): void
}

/** A name that is being typed after `@`. */
interface Query {
  /** The index of `@`. */
  start: number
  text: string
}

/** The name before the cursor. An address such as `ada@example.com` is not one. */
function queryBefore(text: string, cursor: number): Query | undefined {
  const [whole, name] =
    /(?<![\p{L}\p{N}_.@])@([\p{L}\p{N}_.'’-][\p{L}\p{N}_.'’ -]{0,60})?$/u.exec(text.slice(0, cursor)) ?? []
  return whole === undefined ? undefined : { start: cursor - whole.length, text: name ?? '' }
}

/**
 * The text of a note. After `@`, it offers the members; the input keeps the focus (ARIA combobox pattern, as far as an
 * input of several lines may follow it).
 */
export function MentionInput({ ref, value, onText, onKeyDown, onBlur, ...input }: MentionInputProps) {
  const t = useTranslations('timeline')
  const id = useId()
  const [element, setElement] = useState<HTMLTextAreaElement | null>(null)
  useImperativeHandle<HTMLTextAreaElement | null, HTMLTextAreaElement | null>(ref, () => element, [element])
  const [query, setQuery] = useState<Query>()
  const [selected, setSelected] = useState(0)
  // The index of an `@` after which the person wants no names.
  const [declined, setDeclined] = useState<number>()
  const members = useResource('members')
  const isAsked = query !== undefined && query.start !== declined && members?.permissions.list === true
  const { suggestions, isCurrent } = useSuggestions(isAsked ? members : undefined, query?.text ?? '', undefined)
  const options = isAsked ? suggestions : []
  const isOpen = options.length > 0
  const index = Math.min(selected, options.length - 1)
  const look = ({ value: text, selectionStart, selectionEnd }: HTMLTextAreaElement) => {
    const next = selectionStart === selectionEnd ? queryBefore(text, selectionStart) : undefined
    if (next?.start === query?.start && next?.text === query?.text) return
    setQuery(next)
    setSelected(0)
    if (next?.start !== declined) setDeclined(undefined)
  }
  const choose = (option: Suggestion | null | undefined) => {
    if (!element || !query || !option) return
    element.setSelectionRange(query.start, element.selectionStart)
    insert(element, `${mentionOf(option.title, option.record.id)} `)
  }
  const onKey = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey && !event.shiftKey
    const step = stepOf(event.key)
    if (!isOpen || !isPlain) return onKeyDown?.(event)
    if (step !== undefined) setSelected((index + step + options.length) % options.length)
    else if (event.key === 'Enter' || event.key === 'Tab') choose(options[index])
    else if (event.key === 'Escape') setDeclined(query?.start)
    else return onKeyDown?.(event)
    event.preventDefault()
    return event.stopPropagation()
  }
  return (
    <>
      <textarea
        {...input}
        ref={setElement}
        className={styles.input}
        value={value}
        aria-autocomplete="list"
        aria-haspopup="listbox"
        aria-controls={isOpen ? id : undefined}
        aria-activedescendant={isOpen ? `${id}-${index}` : undefined}
        onChange={({ target }: ChangeEvent<HTMLTextAreaElement>) => {
          onText(target.value)
          look(target)
        }}
        onSelect={({ currentTarget }: SyntheticEvent<HTMLTextAreaElement>) => look(currentTarget)}
        onKeyDown={onKey}
        onBlur={(event) => {
          setQuery(undefined)
          onBlur?.(event)
        }}
      />
      <p role="status" className="visually-hidden">
        {isOpen && t('people', { count: options.length })}
      </p>
      <SuggestionList
        id={id}
        label={t('mention')}
        anchor={isOpen ? element : null}
        options={options}
        selected={index}
        isStale={!isCurrent}
        onChoose={choose}
      />
      <Mentioned text={value} />
    </>
  )
}

/** Replaces the selected text, so that the browser can undo it. */
function insert(element: HTMLTextAreaElement, text: string): void {
  element.focus()
  // The only way to keep the browser's history of changes; all browsers have it.
  if (document.execCommand('insertText', false, text)) return
  element.setRangeText(text, element.selectionStart, element.selectionEnd, 'end')
  element.dispatchEvent(new Event('input', { bubbles: true }))
}

/** The people that the text mentions: in the input, their names are between marks and ids. */
function Mentioned({ text }: { text: string }) {
  const t = useTranslations('timeline')
  const authors = useTranslations('authors')
  const format = useFormatter()
  const names = mentionsIn(text).map(({ name }) => name || authors('formerMember'))
  if (names.length === 0) return undefined
  return <p className={styles.mentioned}>{t('mentions', { names: format.list(names) })}</p>
}
