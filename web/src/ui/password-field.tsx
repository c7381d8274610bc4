import { Eye, EyeOff } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import { useTranslations } from 'use-intl'
import { IconButton } from './button.tsx'
import { classes } from './classes.ts'
import { Field, type FieldProps, type InputProps } from './field.tsx'
import styles from './field.module.css'

/** A password that can be revealed; pasting works. */
export function PasswordField({ label, hint, error, ...input }: FieldProps & InputProps) {
  const t = useTranslations('common')
  const [isShown, setShown] = useState(false)
  const element = useRef<HTMLInputElement>(null)
  useEffect(() => {
    // Browsers only offer to store a password if the input is a password field when the form is sent.
    const hide = () => setShown(false)
    const form = element.current?.form
    form?.addEventListener('submit', hide)
    return () => form?.removeEventListener('submit', hide)
  }, [])
  return (
    <Field {...{ label, hint, error }}>
      {(attributes) => (
        <div className={styles.row}>
          <input
            ref={element}
            data-secret
            {...input}
            {...attributes}
            type={isShown ? 'text' : 'password'}
            spellCheck={false}
            autoCapitalize="none"
            className={classes(styles.input, styles.withReveal)}
          />
          <span className={styles.reveal}>
            <IconButton
              icon={isShown ? EyeOff : Eye}
              label={t(isShown ? 'hidePassword' : 'showPassword')}
              aria-pressed={isShown}
              onClick={() => setShown(!isShown)}
            />
          </span>
        </div>
      )}
    </Field>
  )
}
