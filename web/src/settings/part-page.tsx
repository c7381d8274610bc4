import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { send } from '../api/client.ts'
import { ApiError } from '../api/error.ts'
import { Failure } from '../ui/empty-state.tsx'
import { PageContent } from '../ui/page.tsx'
import { NotFound } from '../ui/states.tsx'
import { followsSection } from './paged.tsx'
import { SectionBar } from './section-bar.tsx'
import styles from './settings.module.css'

interface PartPageProps<T> {
  section: 'teams' | 'pipelines'
  id: string
  /** Until its name is known. */
  title: string
  /** Of the list that it is in. */
  listTitle: string
  actions(record: T): ReactNode
  /** Undefined while it is loading, and after a failure. */
  children(record: T | undefined): ReactNode
}

/** The page of a record of a section: a team, a pipeline. */
export function PartPage<T extends { name: string }>(props: PartPageProps<T>) {
  const { section, id, title, listTitle, actions, children } = props
  const { data, error, refetch } = useQuery({
    queryKey: [section, id],
    queryFn: async () => (await send<T>('GET', `/v5/${section}/${id}`)).body,
    meta: followsSection(section),
  })
  if (error instanceof ApiError && error.status === 404) return <NotFound />
  return (
    <>
      <SectionBar title={data?.name ?? title} parent={{ section, title: listTitle }}>
        {data && actions(data)}
      </SectionBar>
      <PageContent isNarrow>
        {error && <Failure error={error} onRetry={() => void refetch()} />}
        {children(data)}
      </PageContent>
    </>
  )
}

interface PartLinkProps {
  section: string
  /** The parameter of the URL that names the record. */
  search: Readonly<Record<string, string>>
  name: string
}

/** The name of a record in its list, which leads to its page. */
export const PartLink = ({ section, search, name }: PartLinkProps) => (
  <Link to="/settings/$section" params={{ section }} search={search as never} className={`${styles.nameLink} truncate`}>
    {name}
  </Link>
)
