import { useQueryErrorResetBoundary } from '@tanstack/react-query'
import { Link, useRouter } from '@tanstack/react-router'
import { CloudOff, FileQuestion } from 'lucide-react'
import { useTranslations } from 'use-intl'
import { useTrouble } from '../api/connection.ts'
import { ApiError } from '../api/error.ts'
import { buttonClasses } from './button.tsx'
import { EmptyState, Failure } from './empty-state.tsx'
import { PageBar } from './page.tsx'

/** Shown if a page takes longer than a moment to load. */
export function Loading() {
  const t = useTranslations('common')
  const trouble = useTranslations('shell.trouble')
  if (useTrouble() !== undefined)
    return (
      <>
        <PageBar title={trouble('title')} />
        <div role="status">
          <EmptyState icon={CloudOff} title={trouble('title')} text={trouble('text')} />
        </div>
      </>
    )
  return (
    <p role="status" className="visually-hidden">
      {t('loading')}
    </p>
  )
}

export function NotFound() {
  const t = useTranslations('common')
  return (
    <>
      <PageBar title={t('notFound')} />
      <EmptyState icon={FileQuestion} title={t('notFound')} text={t('notFoundText')}>
        <Link to="/" className={buttonClasses()}>
          {t('goHome')}
        </Link>
      </EmptyState>
    </>
  )
}

/** A page outside the frame of the application. */
export const UnknownPage = () => (
  <main>
    <NotFound />
  </main>
)

/** Replaces the application if it could not be loaded. */
export const ApplicationError = ({ error }: { error: unknown }) => (
  <main>
    <PageError error={error} />
  </main>
)

/** Shown if a page could not be loaded, with the request's id and a button to retry. */
export function PageError({ error }: { error: unknown }) {
  const t = useTranslations('common')
  const router = useRouter()
  const { reset } = useQueryErrorResetBoundary()
  if (error instanceof ApiError && error.status === 404) return <NotFound />
  const retry = () => {
    reset()
    void router.invalidate()
  }
  return (
    <>
      <PageBar title={t('unexpected')} />
      <Failure error={error} onRetry={retry} />
    </>
  )
}
