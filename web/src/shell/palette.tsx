import { Dialog as Base } from '@base-ui/react/dialog'
import { Search } from 'lucide-react'
import { type KeyboardEvent, useEffect, useEffectEvent, useId, useRef, useState } from 'react'
import { useTranslations } from 'use-intl'
import { classes } from '../ui/classes.ts'
import { Keys } from '../ui/keys.tsx'
import popup from '../ui/popup.module.css'
import { useTop } from '../ui/use-top.ts'
import { isSameName } from '../views/suggestions.ts'
import { type Hit, useHits } from './palette-hits.tsx'
import styles from './palette.module.css'

/** Finds records and commands. The first result is always selected. Enter runs it; Escape returns the focus. */
export function Palette({ isOpen, onClose }: { isOpen: boolean; onClose(): void }) {
  const t = useTranslations('shell')
  return (
    <Base.Root open={isOpen} onOpenChange={(open) => !open && onClose()}>
      <Base.Portal>
        <Base.Backdrop className={popup.backdrop} />
        <Base.Viewport className={popup.viewport}>
          <Base.Popup className={classes(popup.dialog, popup.large)} aria-label={t('palette')}>
            <PaletteContent onClose={onClose} />
          </Base.Popup>
        </Base.Viewport>
      </Base.Portal>
    </Base.Root>
  )
}

function PaletteContent({ onClose }: { onClose(): void }) {
  const t = useTranslations('shell')
  const id = useId()
  const [text, setText] = useState('')
  const [selected, setSelected] = useState(0)
  const list = useRef<HTMLDivElement>(null)
  const [isWaiting, setWaiting] = useState(false)
  const { hits, isCurrent } = useHits(text)
  const index = Math.min(selected, Math.max(hits.length - 1, 0))
  const choose = (hit: Hit | undefined) => {
    if (!hit) return
    onClose()
    hit.run()
  }
  const chooseExact = useEffectEvent(() => {
    const exact = hits.filter(({ title }) => isSameName(title, text))
    if (exact.length === 1) choose(exact[0])
  })
  // Enter came before the results for this text, so the person has seen none of them.
  useEffect(() => {
    if (isWaiting && isCurrent) chooseExact()
  }, [isWaiting, isCurrent])
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined) setSelected((index + step + hits.length) % Math.max(hits.length, 1))
    else if (event.key !== 'Enter') return
    else if (isCurrent || hits[index]?.isCommand) choose(hits[index])
    else setWaiting(true)
    event.preventDefault()
  }
  useEffect(() => {
    list.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' })
  }, [index])
  useTop(list, text)
  return (
    <>
      <div className={styles.head}>
        <Search size={17} strokeWidth={1.75} aria-hidden />
        <input
          className={styles.input}
          role="combobox"
          aria-label={t('palette')}
          aria-expanded
          aria-controls={`${id}-list`}
          aria-activedescendant={hits.length > 0 ? `${id}-${index}` : undefined}
          placeholder={t('search')}
          value={text}
          onKeyDown={onKeyDown}
          onChange={(event) => {
            setText(event.target.value)
            setSelected(0)
            setWaiting(false)
          }}
        />
      </div>
      <div
        ref={list}
        id={`${id}-list`}
        role="listbox"
        aria-label={t('palette')}
        aria-busy={!isCurrent}
        className={styles.list}
      >
        {hits.map((hit, position) => (
          <PaletteOption
            key={hit.key}
            id={`${id}-${position}`}
            hit={hit}
            group={hit.group === hits[position - 1]?.group ? undefined : hit.group}
            isSelected={position === index}
            onChoose={() => choose(hit)}
            onPoint={() => setSelected(position)}
          />
        ))}
      </div>
      <p role="status" className={hits.length === 0 ? styles.nothing : 'visually-hidden'}>
        {hits.length === 0 ? t('nothingFound') : t('hits', { count: hits.length })}
      </p>
    </>
  )
}

interface OptionProps {
  id: string
  hit: Hit
  /** The group heading above it, if it is the first of its group. */
  group: string | undefined
  isSelected: boolean
  onChoose(): void
  onPoint(): void
}

function PaletteOption({ id, hit, group, isSelected, onChoose, onPoint }: OptionProps) {
  return (
    <>
      {group !== undefined && (
        <div className={styles.group} role="presentation">
          {group}
        </div>
      )}
      {/* The input handles the keyboard and keeps the focus (ARIA combobox pattern). */}
      <div
        id={id}
        role="option"
        tabIndex={-1}
        aria-selected={isSelected}
        className={styles.option}
        onClick={onChoose}
        onKeyDown={undefined}
        onPointerMove={onPoint}
      >
        {hit.leading}
        <span className={classes(styles.grow, 'truncate')}>
          {hit.title}
          {hit.text !== undefined && <span className={styles.soft}> {hit.text}</span>}
        </span>
        {hit.shortcut !== undefined && <Keys keys={hit.shortcut} />}
      </div>
    </>
  )
}
