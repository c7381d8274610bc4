import { lazyRouteComponent } from '@tanstack/react-router'
import { ListFilter, X } from 'lucide-react'
import { useRef, useState } from 'react'
import { useTranslations } from 'use-intl'
import { conditionOf, type Filter, filterOf, type FilterNode } from '../api/filter-tree.ts'
import type { ResourceSchema } from '../api/schema.ts'
import { useShortcuts } from '../ui/shortcuts.tsx'
import { Button, IconButton } from '../ui/button.tsx'
import { classes } from '../ui/classes.ts'
import { Popover } from '../ui/popover.tsx'
import { draftOf } from './filter-draft.ts'
import { FilterSentence, PartSentence } from './filter-sentence.tsx'
import type { ListBase } from './list-state.ts'
import styles from './list.module.css'

/** Loaded before it opens, so that its first field gets the focus. */
const FilterForm = lazyRouteComponent(() => import('./filter-form.tsx'), 'FilterForm')

type Filtered = Pick<ListBase, 'filters' | 'parts'>

interface FilterBarProps {
  resource: ResourceSchema
  state: Filtered
  onChange(changed: (latest: Filtered) => Filtered): void
}

/** A condition that a URL can express, or another part of the tree. */
type Chip = { filter: Filter } | { part: FilterNode }

/** One chip per filter, each with a sentence, and a button to add a filter. Backspace on a chip removes the filter. */
export function FilterBar({ resource, state, onChange }: FilterBarProps) {
  const t = useTranslations('list')
  const [openIndex, setOpenIndex] = useState<number>()
  const addButton = useRef<HTMLButtonElement>(null)
  const chips = chipsOf(state)
  const open = async (index: number) => {
    await FilterForm.preload?.()
    setOpenIndex(index)
  }
  useShortcuts([{ keys: 'f', label: t('addFilter'), run: () => void open(chips.length) }])
  const replace = (index: number, parts: readonly FilterNode[]) => {
    const replaced = JSON.stringify(chips[index])
    onChange((latest) => {
      // Another chip may be removed before this one is rendered.
      const before = chipsOf(latest)
      const found = before.findIndex((chip) => JSON.stringify(chip) === replaced)
      const changed = before.toSpliced(found < 0 ? before.length : found, 1, ...parts.map(chipOf))
      return {
        filters: changed.flatMap((chip) => ('filter' in chip ? chip.filter : [])),
        parts: changed.flatMap((chip) => ('part' in chip ? [chip.part] : [])),
      }
    })
    setOpenIndex(undefined)
  }
  const remove = (index: number) => {
    replace(index, [])
    addButton.current?.focus()
  }
  const popover = (index: number) => ({
    isOpen: openIndex === index,
    onOpenChange: (isOpen: boolean) => (isOpen ? void open(index) : setOpenIndex(undefined)),
  })
  return (
    <>
      {chips.map((chip, index) => (
        <span key={JSON.stringify(chip)} className={classes(styles.chip, 'part' in chip && styles.wideChip)}>
          <Popover
            label={t('editFilter')}
            {...popover(index)}
            trigger={
              <button
                type="button"
                className={styles.chipText}
                onKeyDown={(event) => {
                  if (event.key === 'Backspace' || event.key === 'Delete') remove(index)
                }}
              >
                <span className="truncate">
                  {'filter' in chip ? (
                    <FilterSentence resource={resource} filter={chip.filter} />
                  ) : (
                    <PartSentence resource={resource} part={chip.part} />
                  )}
                </span>
              </button>
            }
          >
            <ChipForm resource={resource} chip={chip} onApply={(parts) => replace(index, parts)} />
          </Popover>
          <IconButton icon={X} label={t('removeFilter')} onClick={() => remove(index)} />
        </span>
      ))}
      <Popover
        label={t('addFilter')}
        {...popover(chips.length)}
        trigger={
          <Button ref={addButton} kind="quiet" icon={ListFilter}>
            {t('filter')}
          </Button>
        }
      >
        <FilterForm resource={resource} draft={undefined} onApply={(parts) => replace(chips.length, parts)} />
      </Popover>
    </>
  )
}

const chipsOf = ({ filters, parts }: Filtered): Chip[] => [
  ...filters.map((filter) => ({ filter })),
  ...parts.map((part) => ({ part })),
]

function chipOf(part: FilterNode): Chip {
  const condition = conditionOf(part)
  const filter = condition && filterOf(condition)
  return filter ? { filter } : { part }
}

interface ChipFormProps {
  resource: ResourceSchema
  chip: Chip
  onApply(parts: readonly FilterNode[]): void
}

/** Changes a filter; one with more levels than the form supports is shown as text. */
function ChipForm({ resource, chip, onApply }: ChipFormProps) {
  const t = useTranslations('filters')
  const draft = 'filter' in chip ? { kind: 'condition' as const, ...chip.filter } : draftOf(chip.part, resource)
  if (draft) return <FilterForm resource={resource} draft={draft} onApply={onApply} />
  return (
    <div className={styles.filterForm}>
      <p>{'part' in chip && <PartSentence resource={resource} part={chip.part} />}</p>
      <p className={styles.hint}>{t('fixed')}</p>
    </div>
  )
}
