import { useTranslations } from 'use-intl'
import { Popover } from '../ui/popover.tsx'
import { Avatar } from '../ui/tag.tsx'
import type { Suggestion } from './suggestions.ts'
import styles from './value-editor.module.css'

interface SuggestionListProps {
  /** The id of the list; each option appends its index. */
  id: string
  label: string
  anchor: Element | null
  options: readonly (Suggestion | null)[]
  selected: number
  /** Does the list belong to an earlier text? */
  isStale: boolean
  onChoose(option: Suggestion | null): void
}

/** Suggested records below an input, which keeps the focus (ARIA combobox pattern). */
export function SuggestionList({ id, label, anchor, options, selected, isStale, onChoose }: SuggestionListProps) {
  const common = useTranslations('common')
  return (
    <Popover label={label} anchor={anchor} isOpen={anchor !== null} isPassive>
      {options.length === 0 && (
        <p role="status" className={styles.noOption}>
          {common(isStale ? 'loading' : 'noMatch')}
        </p>
      )}
      <div
        id={id}
        role="listbox"
        aria-label={label}
        aria-busy={isStale}
        hidden={options.length === 0}
        className={styles.suggestions}
      >
        {options.map((option, index) => (
          <div
            key={option?.record.id ?? 'none'}
            id={`${id}-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === selected}
            className={styles.option}
            // Runs before the input loses the focus.
            onPointerDown={(event) => {
              event.preventDefault()
              onChoose(option)
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
  )
}
