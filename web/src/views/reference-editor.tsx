import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { type KeyboardEvent, useId, useRef, useState } from 'react'
import { useTranslations } from 'use-intl'
import { send } from '../api/client.ts'
import { type RecordData, type ResourceSchema, titleOf, useResource } from '../api/schema.ts'
import { Popover } from '../ui/popover.tsx'
import { Avatar } from '../ui/tag.tsx'
import { useNestedRecords } from './nested-records.ts'
import type { ValueEditorProps } from './editing.ts'
import styles from './value-editor.module.css'

const maxSuggestions = 8

/** Chooses a record of another resource by typing a part of its name; empty text clears the reference. */
export function ReferenceEditor({ property, record: owner, typed, onCommit, onCancel }: ValueEditorProps) {
  const t = useTranslations('list')
  const common = useTranslations('common')
  const id = useId()
  const [anchor, setAnchor] = useState<HTMLInputElement | null>(null)
  const [text, setText] = useState(typed ?? '')
  const [selected, setSelected] = useState(0)
  const isDone = useRef(false)
  const target = useResource(property.resource ?? '')
  const parentId = target?.parent ? owner?.[target.parent.parameter] : undefined
  const suggestions = useSuggestions(target, text, typeof parentId === 'string' ? parentId : undefined)
  const commit = (record: RecordData | null, move?: 'down' | 'right') => {
    if (isDone.current) return
    isDone.current = true
    onCommit(record?.id ?? null, move, record ?? undefined)
  }
  const cancel = () => {
    if (isDone.current) return
    isDone.current = true
    onCancel()
  }
  const canClear = property.field?.clearable !== false
  const options: (Suggestion | null)[] = [...suggestions, ...(text === '' && canClear ? [null] : [])]
  const onKeyDown = (event: KeyboardEvent) => {
    event.stopPropagation()
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    const option = options[selected]
    if (step !== undefined) setSelected((selected + step + options.length) % Math.max(options.length, 1))
    else if (event.key === 'Escape') cancel()
    else if (event.key === 'Enter' && option !== undefined) commit(option?.record ?? null, 'down')
    else if (event.key === 'Tab' && option && text !== '') commit(option.record, 'right')
    else if (event.key === 'Tab') cancel()
    else return
    event.preventDefault()
  }
  return (
    <>
      <input
        ref={setAnchor}
        autoFocus
        role="combobox"
        aria-label={property.label}
        aria-expanded={options.length > 0}
        aria-controls={`${id}-list`}
        aria-activedescendant={options.length > 0 ? `${id}-${selected}` : undefined}
        placeholder={t('searchNamed', { name: property.label })}
        className={styles.input}
        value={text}
        onChange={(event) => {
          setText(event.target.value)
          setSelected(0)
        }}
        onKeyDown={onKeyDown}
        onBlur={cancel}
      />
      <Popover label={property.label} anchor={anchor} isOpen={anchor !== null} isPassive>
        <div id={`${id}-list`} role="listbox" aria-label={property.label} className={styles.suggestions}>
          {options.map((option, index) => (
            <div
              key={option?.record.id ?? 'none'}
              id={`${id}-${index}`}
              role="option"
              tabIndex={-1}
              aria-selected={index === selected}
              className={styles.option}
              // Before the input loses the focus.
              onPointerDown={(event) => {
                event.preventDefault()
                commit(option?.record ?? null)
              }}
            >
              {option ? (
                <>
                  <Avatar name={option.title} isSquare />
                  {option.title}
                </>
              ) : (
                common('none')
              )}
            </div>
          ))}
        </div>
      </Popover>
    </>
  )
}

interface Suggestion {
  record: RecordData
  title: string
}

/** The records whose name contains the text; resources without search have few records. */
function useSuggestions(target: ResourceSchema | undefined, text: string, parentId: string | undefined): Suggestion[] {
  const nested = useNestedRecords(target?.parent ? target : undefined)
  const { data } = useQuery({
    queryKey: ['suggestions', target?.name, target?.search === true ? text : ''],
    queryFn: async ({ signal }) => {
      const query = new URLSearchParams({ limit: target?.search === true ? String(maxSuggestions) : '100' })
      if (target?.search === true && text.trim() !== '') query.set('query', text)
      return (await send<RecordData[]>('GET', target?.path ?? '', { query, signal })).body
    },
    enabled: target !== undefined && !target.parent,
    placeholderData: keepPreviousData,
  })
  if (!target) return []
  const isWanted = ({ title }: Suggestion) => title.toLowerCase().includes(text.toLowerCase())
  if (target.parent) {
    const shown = nested.filter(({ parent }) => parentId === undefined || parent.id === parentId)
    const hasSeveral = shown.some(({ parent }) => parent.id !== shown[0]?.parent.id)
    return shown
      .map(({ record, parentTitle }) => {
        const title = titleOf(target, record)
        return { record, title: hasSeveral ? `${title} · ${parentTitle}` : title }
      })
      .filter(isWanted)
  }
  const suggestions = (data ?? []).map((record) => ({ record, title: titleOf(target, record) }))
  return (target.search ? suggestions : suggestions.filter(isWanted)).slice(0, maxSuggestions)
}
