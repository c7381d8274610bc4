import { useState } from 'react'
import { useTranslations } from 'use-intl'
import { useDraft, useUnsaved } from '../preferences/drafts.ts'
import { Button } from '../ui/button.tsx'
import { Chip } from '../ui/chip.tsx'
import { Dialog, DialogActions } from '../ui/dialog.tsx'
import { TextAreaField } from '../ui/field.tsx'
import styles from './deals.module.css'

/** The person's answer; undefined if they cancelled. */
type Answer = { lostReason?: string } | undefined

interface Question {
  name: string
  answer(answer: Answer): void
}

/** Asks why a deal was lost. Render the returned element on the page. */
export function useLostReason() {
  const [question, setQuestion] = useState<Question>()
  const ask = (name: string): Promise<Answer> =>
    new Promise((resolve) =>
      setQuestion({
        name,
        answer(answer) {
          setQuestion(undefined)
          resolve(answer)
        },
      }),
    )
  return { ask, dialog: question && <LostReasonDialog {...question} /> }
}

const usual = ['price', 'competitor', 'timing', 'noNeed', 'noAnswer'] as const

function LostReasonDialog({ name, answer }: Question) {
  const t = useTranslations('deals')
  const common = useTranslations('common')
  const [text, setText] = useDraft('lost reason', () => '')
  useUnsaved('form', text !== '')
  return (
    <Dialog title={t('lostTitle', { name })} description={t('lostText')} isOpen onClose={() => answer(undefined)}>
      <form
        className={styles.form}
        onSubmit={(event) => {
          event.preventDefault()
          answer(text.trim() === '' ? {} : { lostReason: text.trim() })
        }}
      >
        <div className={styles.reasons} role="group" aria-label={t('usualReasons')}>
          {usual.map((reason) => {
            const sentence = t(`reasons.${reason}`)
            return (
              <Chip
                key={reason}
                isPressed={text === sentence}
                onClick={() => setText(text === sentence ? '' : sentence)}
              >
                {sentence}
              </Chip>
            )
          })}
        </div>
        <TextAreaField
          label={t('reason')}
          isOptional
          maxLength={500}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <DialogActions>
          <Button onClick={() => answer(undefined)}>{common('cancel')}</Button>
          <Button type="submit" kind="primary">
            {t('markLost')}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  )
}
