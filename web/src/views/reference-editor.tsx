import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { type KeyboardEvent, useId, useRef, useState } from 'react'
import { useTranslations } from 'use-intl'
import { send } from '../api/client.ts'
import { type RecordData, type ResourceSchema, titleOf, useResource } from '../api/schema.ts'
import { Popover } from '../ui/popover.tsx'
import { Avatar } from '../ui/tag.tsx'
import type { ValueEditorProps } from './value-editor.tsx'
import styles from './value-editor.module.css'

const maxSuggestions = 8

/** Chooses a record of another resource by typing a part of its name; empty text clears the reference. */
export function ReferenceEditor({ property, typed, onCommit, onCancel }: ValueEditorProps) {
  const t = useTranslations('list')
  const common = useTranslations('common')
  const id = useId()
  const [anchor, setAnchor] = useState<HTMLInputElement | null>(null)
  const [text, setText] = useState(typed ?? '')
  const [selected, setSelected] = useState(0)
  const isDone = useRef(false)
  const target = useResource(property.resource ?? '')
  const suggestions = useSuggestions(target, text)
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
  const canClear = property.field?.nullable !== false
  const options: (RecordData | null)[] = [...suggestions, ...(text === '' && canClear ? [null] : [])]
  const onKeyDown = (event: KeyboardEvent) => {
    event.stopPropagation()
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    const option = options[selected]
    if (step !== undefined) setSelected((selected + step + options.length) % Math.max(options.length, 1))
    else if (event.key === 'Escape') cancel()
    else if (event.key === 'Enter' && option !== undefined) commit(option, 'down')
    else if (event.key === 'Tab' && option !== undefined && text !== '') commit(option, 'right')
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
          {options.map((record, index) => (
            <div
              key={record?.id ?? 'none'}
              id={`${id}-${index}`}
              role="option"
              tabIndex={-1}
              aria-selected={index === selected}
              className={styles.option}
              // Before the input loses the focus.
              onPointerDown={(event) => {
                event.preventDefault()
                commit(record)
              }}
            >
              {record && target ? (
                <>
                  <Avatar name={titleOf(target, record)} isSquare />
                  {titleOf(target, record)}
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

/** The records whose name contains the text; resources without search have few records. */
function useSuggestions(target: ResourceSchema | undefined, text: string): RecordData[] {
  const { data } = useQuery({
    queryKey: ['suggestions', target?.name, target?.search === true ? text : ''],
    queryFn: async ({ signal }) => {
      const query = new URLSearchParams({ limit: target?.search === true ? String(maxSuggestions) : '100' })
      if (target?.search === true && text.trim() !== '') query.set('query', text)
      return (await send<RecordData[]>('GET', target?.path ?? '', { query, signal })).body
    },
    enabled: target !== undefined,
    placeholderData: keepPreviousData,
  })
  if (!target || !data) return []
  const isWanted = (record: RecordData) => titleOf(target, record).toLowerCase().includes(text.toLowerCase())
  return (target.search ? data : data.filter(isWanted)).slice(0, maxSuggestions)
}
