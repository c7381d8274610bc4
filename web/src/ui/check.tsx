import { Check as CheckIcon } from 'lucide-react'
import styles from './check.module.css'

interface CheckProps {
  /** Its name for assistive technology. */
  label: string
  isChecked: boolean
  disabled?: boolean
  /** -1 inside a grid, which has one tab stop. */
  tabIndex?: number
  onChange(): void
}

/** A round checkbox to mark something as done. */
export function Check({ label, isChecked, disabled, tabIndex, onChange }: CheckProps) {
  return (
    <span className={styles.box}>
      <input
        type="checkbox"
        className={styles.input}
        aria-label={label}
        checked={isChecked}
        disabled={disabled}
        tabIndex={tabIndex}
        onChange={onChange}
      />
      <CheckIcon size={11} strokeWidth={3} className={styles.mark} aria-hidden />
    </span>
  )
}
