import type { ComponentProps, ReactNode } from 'react'
import styles from './chip.module.css'
import { classes } from './classes.ts'
import tags from './tag.module.css'
import type { Tint } from './tag.tsx'

interface ChipProps extends Omit<ComponentProps<'button'>, 'className' | 'style'> {
  isPressed?: boolean
  /** The colour of a dot before the text. */
  tint?: Tint
  /** A number after the text. */
  count?: ReactNode
}

/** A rounded button that toggles a filter. */
export function Chip({ isPressed, tint, count, children, ...rest }: ChipProps) {
  return (
    <button type="button" {...rest} className={styles.chip} aria-pressed={isPressed}>
      {tint && <span className={classes(styles.dot, tags[tint])} aria-hidden />}
      {children}
      {count !== undefined && <span className={styles.count}>{count}</span>}
    </button>
  )
}

interface SegmentsProps<Value> {
  /** Its name for assistive technology. */
  label: string
  options: readonly { value: Value; label: string }[]
  value: Value
  onChange(value: Value): void
}

/** Selects one of a few values, all of them visible. */
export function Segments<Value extends string | number>({ label, options, value, onChange }: SegmentsProps<Value>) {
  return (
    <fieldset className={styles.segments}>
      <legend className="visually-hidden">{label}</legend>
      {options.map((option) => (
        <button
          key={option.value}
          type="button"
          className={styles.segment}
          aria-pressed={option.value === value}
          onClick={() => onChange(option.value)}
        >
          {option.label}
        </button>
      ))}
    </fieldset>
  )
}
