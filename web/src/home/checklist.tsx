import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { CircleCheck, CircleDashed, Eraser, Sparkles, X } from 'lucide-react'
import { type ReactNode, useEffect, useState } from 'react'
import { useTranslations } from 'use-intl'
import { send } from '../api/client.ts'
import { useOrganization } from '../api/me.ts'
import { useSchema } from '../api/schema.ts'
import { importsQuery } from '../imports/import-queries.ts'
import { ofResources } from '../live/refetch.ts'
import { rowStatuses, sumOf } from '../imports/row-states.ts'
import { readPreference, storePreference } from '../preferences/storage.ts'
import { IconButton } from '../ui/button.tsx'
import { classes } from '../ui/classes.ts'
import { Panel } from '../ui/page.tsx'
import { exampleDataQuery, isAnyExample, useExamples, useMayUseExamples } from './example-data.ts'
import styles from './home.module.css'

type Name = 'contact' | 'key' | 'import' | 'colleague'

interface Step {
  name: Name
  /** Undefined until it is known. */
  isDone: boolean | undefined
  to: string
  search?: Record<string, string>
}

interface ChecklistProps {
  /** The rest of the page. */
  children: ReactNode
}

/**
 * The first steps in an organization: instead of the rest of the page while there are no contacts, then above it.
 * Disappears when all steps are done, and can be closed in this browser. The rest waits until the steps are known, so
 * that they do not push it down.
 */
export function Checklist({ children }: ChecklistProps) {
  const { id } = useOrganization()
  const preference = `checklist.${id}`
  const [isOver, setOver] = useState(() => readPreference(preference) !== undefined)
  const end = () => {
    storePreference(preference, 'over')
    setOver(true)
  }
  return isOver ? children : <Steps onEnd={end}>{children}</Steps>
}

function Steps({ onEnd, children }: { onEnd(): void; children: ReactNode }) {
  const t = useTranslations('home')
  const { steps, isEmpty } = useSteps()
  const mayUseExamples = useMayUseExamples()
  const isKnown = steps.every(({ isDone }) => isDone !== undefined)
  const done = steps.filter(({ isDone }) => isDone).length
  const isOver = isKnown && done === steps.length
  useEffect(() => {
    if (isOver) onEnd()
  }, [isOver, onEnd])
  if (!isKnown) return undefined
  if (isOver) return children
  return (
    <>
      <Panel
        title={t('checklist')}
        description={t('checklistDone', { done, total: steps.length })}
        actions={<IconButton icon={X} label={t('dismiss')} onClick={onEnd} />}
      >
        <ul className={classes(styles.steps, isEmpty && styles.leading)}>
          {mayUseExamples && (
            <li>
              <ExampleCard />
            </li>
          )}
          {steps.map((step) => (
            <li key={step.name}>
              <StepCard step={step} />
            </li>
          ))}
        </ul>
      </Panel>
      {!isEmpty && children}
    </>
  )
}

/** Fills the organization with example data, or removes it. */
function ExampleCard() {
  const t = useTranslations('home.examples')
  const { data: examples } = useQuery(exampleDataQuery)
  const { isBusy, fill, remove } = useExamples()
  const isFilled = isAnyExample(examples)
  const Icon = isFilled ? Eraser : Sparkles
  return (
    <button
      type="button"
      className={styles.step}
      aria-busy={isBusy}
      aria-disabled={isBusy || examples === undefined}
      onClick={() => examples && void (isFilled ? remove() : fill())}
    >
      <Icon size={18} strokeWidth={1.75} aria-hidden />
      <span className={styles.stepText}>
        <strong>{t(isFilled ? 'remove' : 'fill')}</strong>
        <span className={styles.soft}>{t(isBusy ? 'busy' : isFilled ? 'removeText' : 'fillText')}</span>
      </span>
    </button>
  )
}

function StepCard({ step: { name, isDone, to, search } }: { step: Step }) {
  const t = useTranslations('home')
  const Icon = isDone ? CircleCheck : CircleDashed
  const content = (
    <>
      <Icon size={18} strokeWidth={1.75} aria-hidden />
      <span className={styles.stepText}>
        <strong>
          {t(`steps.${name}.title`)}
          {isDone && <span className="visually-hidden">: {t('stepDone')}</span>}
        </strong>
        <span className={styles.soft}>{t(`steps.${name}.text`)}</span>
      </span>
    </>
  )
  return isDone ? (
    <div className={styles.step} data-done>
      {content}
    </div>
  ) : (
    <Link to={to} {...(search && { search })} className={styles.step}>
      {content}
    </Link>
  )
}

/** The steps that the person may do and their state, and whether the organization has no contacts. */
function useSteps(): { steps: readonly Step[]; isEmpty: boolean } {
  const schema = useSchema()
  const may = (name: string) => schema.some((one) => one.name === name && one.permissions.create)
  const contacts = useCount('contacts', may('contacts'))
  const keys = useCount('api-keys', may('api-keys'))
  const members = useCount('members', may('invitations'))
  const invitations = useCount('invitations', may('invitations'))
  const { data: imports } = useQuery({ ...importsQuery, enabled: may('imports'), refetchInterval: false })
  const unused = imports?.find(({ stats }) => sumOf(stats.counts, rowStatuses) === 0)
  const importStep: Step = {
    name: 'import',
    isDone: imports?.some(({ stats }) => sumOf(stats.counts, rowStatuses) > 0),
    ...(unused ? { to: `/imports/${unused.id}` } : { to: '/imports', search: { new: '1' } }),
  }
  const colleague: Step = {
    name: 'colleague',
    isDone: members === undefined || invitations === undefined ? undefined : members > 1 || invitations > 0,
    to: '/settings/invitations',
    search: { new: 'true' },
  }
  const { data: examples } = useQuery({ ...exampleDataQuery, enabled: useMayUseExamples() })
  const ownContacts = contacts === undefined ? undefined : contacts - (examples?.contacts ?? 0)
  const steps = [
    ...(may('contacts')
      ? [{ name: 'contact' as const, isDone: isAny(ownContacts), to: '/contacts', search: { new: '1' } }]
      : []),
    ...(may('api-keys')
      ? [{ name: 'key' as const, isDone: isAny(keys), to: '/settings/api-keys', search: { new: 'true' } }]
      : []),
    ...(may('imports') ? [importStep] : []),
    ...(may('invitations') ? [colleague] : []),
  ]
  return { steps, isEmpty: contacts === 0 }
}

const isAny = (count: number | undefined): boolean | undefined => (count === undefined ? undefined : count > 0)

function useCount(resource: string, enabled: boolean): number | undefined {
  const { data } = useQuery({
    queryKey: [resource, 'count', 'all'],
    enabled,
    queryFn: async ({ signal }) =>
      (await send<{ count: number }>('GET', `/v5/${resource}/count`, { signal })).body.count,
    meta: { follows: ofResources(resource.slice(0, -1)) },
  })
  return data
}
