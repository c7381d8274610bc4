import { Check, Pencil, X } from 'lucide-react'
import { type ReactNode, type RefObject, useEffect, useId, useRef, useState } from 'react'
import { useTranslations } from 'use-intl'
import { ApiError } from '../api/error.ts'
import { useShortcuts } from '../ui/shortcuts.tsx'
import type { Names } from '../api/names.ts'
import { Button } from '../ui/button.tsx'
import { Keys } from '../ui/keys.tsx'
import { Tag, tintOfState } from '../ui/tag.tsx'
import { useChoiceLabel } from '../views/choices.ts'
import { Decision } from './decision.tsx'
import { typeIcons } from './icons.ts'
import { focusSuggestion } from './keys.ts'
import { confidenceOf, nameOf, useEngine, useSentence } from './sentences.ts'
import { isOpen, type Suggestion } from './suggestion-data.ts'
import { canBeEdited, EditSuggestion } from './suggestion-form.tsx'
import { useDecisions } from './use-decisions.ts'
import styles from './suggestions.module.css'

interface SuggestionCardProps {
  suggestion: Suggestion
  names: Names
  /** The part of the note that is the evidence. Anyone may have written it, so it is shown as plain text. */
  evidence: ReactNode
  /** Content above the suggestion, such as a link to its record. */
  children?: ReactNode
  /** After a decision, focus the next suggestion instead of this one. */
  movesOn?: boolean
}

/** A suggestion, its evidence, and the decision: by buttons, or by single keys while the card has the focus. */
export function SuggestionCard({ suggestion, names, evidence, children, movesOn = false }: SuggestionCardProps) {
  const t = useTranslations('suggestions')
  const sentenceOf = useSentence()
  const id = useId()
  const card = useRef<HTMLDivElement>(null)
  const hasFocus = useHasFocus(card)
  const decision = useCardDecision(suggestion, card, movesOn)
  const { actions, refusal, isBusy, editing } = decision
  useShortcuts(
    hasFocus
      ? [
          ...actions,
          { keys: 'ArrowDown', label: t('next'), run: () => void focusSuggestion(1) },
          { keys: 'ArrowUp', label: t('previous'), run: () => void focusSuggestion(-1) },
        ]
      : [],
  )
  const Icon = typeIcons[suggestion.type]
  const open = isOpen(suggestion)
  return (
    <div
      ref={card}
      role="group"
      aria-labelledby={`${id}-sentence`}
      aria-describedby={`${id}-about`}
      tabIndex={open ? 0 : -1}
      data-suggestion={open ? 'open' : 'decided'}
      className={styles.card}
    >
      <Icon size={16} strokeWidth={1.75} className={styles.icon} aria-hidden />
      <div className={styles.text}>
        {children}
        <p id={`${id}-sentence`} className={styles.sentence}>
          {sentenceOf(suggestion, names)}
        </p>
        {evidence}
        <About id={`${id}-about`} suggestion={suggestion} />
        {suggestion.status === 'auto_applied' && (
          <p className={styles.byItself}>
            {suggestion.resultContactId === null ? t('recordedByItself') : t('optedOutByItself')}
          </p>
        )}
        {suggestion.status === 'pending' && suggestion.waitingReason !== null && (
          <p className={styles.byItself}>{t(`waits.${suggestion.waitingReason}`)}</p>
        )}
        {!open && <Decision suggestion={suggestion} names={names} />}
        {refusal !== undefined && (
          <p role="alert" className={styles.refusal}>
            {refusal}
          </p>
        )}
      </div>
      {actions.length > 0 && (
        <div className={styles.buttons}>
          {actions.map(({ keys, label, icon, kind, run }) => (
            <Button key={keys} kind={kind} icon={icon} disabled={isBusy} aria-keyshortcuts={keys} onClick={run}>
              {label}
              <span className={styles.key} aria-hidden>
                <Keys keys={keys} />
              </span>
            </Button>
          ))}
        </div>
      )}
      {editing && (
        <EditSuggestion
          suggestion={suggestion}
          name={nameOf(suggestion, names)}
          refused={editing.refused}
          onClose={decision.close}
          onAccepted={decision.leave}
        />
      )}
    </div>
  )
}

/** Is the focus on an element or inside it? */
function useHasFocus(ref: RefObject<HTMLElement | null>): boolean {
  const [hasFocus, setFocus] = useState(false)
  useEffect(() => {
    const element = ref.current
    const update = ({ type, relatedTarget }: FocusEvent) =>
      setFocus(type === 'focusin' || element?.contains(relatedTarget as Node | null) === true)
    element?.addEventListener('focusin', update)
    element?.addEventListener('focusout', update)
    return () => {
      element?.removeEventListener('focusin', update)
      element?.removeEventListener('focusout', update)
    }
  }, [ref])
  return hasFocus
}

/** Intent, priority, confidence and source. */
function About({ id, suggestion }: { id: string; suggestion: Suggestion }) {
  const t = useTranslations('suggestions')
  const choiceLabel = useChoiceLabel()
  const engineOf = useEngine()
  const { intent, priority, analysis } = suggestion
  const confidence = confidenceOf(suggestion)
  return (
    <div id={id} className={styles.about}>
      <Tag tint="violet">{t(`intents.${intent}`)}</Tag>
      {priority !== 'normal' && (
        <Tag tint={tintOfState(priority, priority)}>{t('priority', { priority: choiceLabel(priority) })}</Tag>
      )}
      <span>{t(`confidence.${confidence}`)}</span>
      <span>{engineOf(suggestion)}</span>
      {analysis.summary !== null && <span className={styles.summary}>{analysis.summary}</span>}
    </div>
  )
}

/** The available actions, and the service's response to the last one. */
function useCardDecision(suggestion: Suggestion, card: RefObject<HTMLElement | null>, movesOn: boolean) {
  const t = useTranslations('suggestions')
  const common = useTranslations('common')
  const { mayAccept, mayReject, accept, reject } = useDecisions()
  const [refusal, setRefusal] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const [editing, setEditing] = useState<{ refused: Readonly<Record<string, string>> }>()
  /** The pressed button has disappeared. */
  const leave = () =>
    requestAnimationFrame(() => {
      const { activeElement, body } = document
      if (activeElement !== body && card.current?.contains(activeElement) !== true) return
      if (!movesOn || !focusSuggestion(1, card.current)) card.current?.focus()
    })
  const decide = async (act: () => Promise<void>) => {
    if (isBusy) return
    setBusy(true)
    setRefusal(undefined)
    try {
      await act()
      leave()
    } catch (error) {
      const { details = [], description = common('unreachable') } = error instanceof ApiError ? error : {}
      const refused = Object.fromEntries(details.map(({ field, message }) => [field, message]))
      if (details.length > 0 && canBeEdited(suggestion)) setEditing({ refused })
      else setRefusal([description, ...Object.values(refused)].join(' '))
      card.current?.focus()
    } finally {
      setBusy(false)
    }
  }
  const actions = [
    {
      isPossible: mayAccept,
      keys: 'a',
      label: t(suggestion.status === 'auto_applied' && suggestion.type === 'suppress' ? 'keep' : 'accept'),
      icon: Check,
      kind: 'default' as const,
      run: () => void decide(() => accept(suggestion, {})),
    },
    {
      isPossible: mayAccept && canBeEdited(suggestion),
      keys: 'e',
      label: common('edit'),
      icon: Pencil,
      kind: 'quiet' as const,
      run: () => setEditing({ refused: {} }),
    },
    {
      isPossible: mayReject,
      keys: 'r',
      label: t('reject'),
      icon: X,
      kind: 'quiet' as const,
      run: () => void decide(() => reject(suggestion)),
    },
  ]
  const close = () => {
    setEditing(undefined)
    requestAnimationFrame(() => card.current?.focus())
  }
  return {
    actions: isOpen(suggestion) ? actions.filter(({ isPossible }) => isPossible) : [],
    refusal,
    isBusy,
    editing,
    close,
    leave,
  }
}
