import { Link } from '@tanstack/react-router'
import { useTranslations } from 'use-intl'
import { buttonClasses } from '../ui/button.tsx'
import { Card } from './card.tsx'

/** Shown if the opened link needs a session; the link continues after the log-in. */
export function LogInFirst({ title }: { title: string }) {
  const t = useTranslations('entrance.logInFirst')
  return (
    <Card key="log-in-first" title={title} lead={t('lead')}>
      <Link to="/login" search={{ next: '/account' }} className={buttonClasses('primary', true)}>
        {t('logIn')}
      </Link>
    </Card>
  )
}
