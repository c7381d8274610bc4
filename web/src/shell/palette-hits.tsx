import { keepPreviousData, useQueries } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Keyboard, Plus } from 'lucide-react'
import { type ReactNode, useDeferredValue } from 'react'
import { useTranslations } from 'use-intl'
import { send } from '../api/client.ts'
import { type RecordData, type ResourceSchema, titleOf, useSchema } from '../api/schema.ts'
import { useNoun } from '../messages/labels.ts'
import { resourceViews } from '../registry/resources.ts'
import { Avatar } from '../ui/tag.tsx'
import { useShortcutList } from '../ui/shortcuts.tsx'

/** A result that the palette can open or run. */
export interface Hit {
  key: string
  group: string
  title: string
  text?: string
  leading: ReactNode
  shortcut?: string
  /** Commands match as soon as the text is typed; records only when the service has answered. */
  isCommand?: true
  run(): void
}

const recordsPerResource = 5

/** The results for a text. `isCurrent` is false while they include records that were found for an earlier text. */
interface Hits {
  hits: readonly Hit[]
  isCurrent: boolean
}

/** The results for a text: records, then commands, then the offer to create a record with that name. */
export function useHits(text: string): Hits {
  const t = useTranslations('shell')
  const nounOf = useNoun()
  const navigate = useNavigate()
  const wanted = text.trim()
  const { hits: records, isCurrent } = useRecordHits(wanted)
  const shortcuts = useShortcutList()()
  const schema = useSchema()
  const isWanted = (title: string) =>
    wanted.split(/\s+/).every((word) => title.toLowerCase().includes(word.toLowerCase()))
  const commands = shortcuts
    .filter(({ keys, label }) => keys !== 'Mod+K' && isWanted(label))
    .map(({ keys, label, run }): Hit => {
      const leading = <Keyboard size={16} strokeWidth={1.75} aria-hidden />
      return {
        key: `shortcut ${keys}`,
        group: t('commands'),
        title: label,
        leading,
        shortcut: keys,
        isCommand: true,
        run,
      }
    })
  const creatable = schema.filter(({ name, permissions }) => resourceViews[name] && permissions.create)
  const create = creatable.flatMap(({ name, singularLabel }): Hit[] => {
    const noun = nounOf(singularLabel)
    const title = wanted === '' ? t('createNamed', { name: noun }) : t('createWithText', { name: noun, text: wanted })
    const isShown = wanted === '' || name === 'contacts' || isWanted(t('createNamed', { name: noun }))
    if (!isShown) return []
    const leading = <Plus size={16} strokeWidth={1.75} aria-hidden />
    const search = { new: wanted === '' ? '1' : wanted }
    const run = () => void navigate({ to: '/$resource', params: { resource: name }, search })
    return [{ key: `create ${name}`, group: t('commands'), title, leading, run }]
  })
  return { hits: [...records, ...commands, ...create], isCurrent }
}

function useRecordHits(wanted: string): Hits {
  const t = useTranslations('shell')
  const nounOf = useNoun()
  const navigate = useNavigate()
  const text = useDeferredValue(wanted)
  const searched = useSchema().filter(
    ({ name, search, permissions }) => resourceViews[name] && search && permissions.list,
  )
  const answers = useQueries({
    queries: searched.map((resource) => ({
      queryKey: ['palette', resource.name, text],
      queryFn: ({ signal }: { signal: AbortSignal }) => findRecords(resource, text, signal),
      enabled: text.length >= 2,
      placeholderData: keepPreviousData,
    })),
  })
  if (wanted.length < 2) return { hits: [], isCurrent: true }
  const isAnswered = answers.every(({ isPending, isPlaceholderData }) => !isPending && !isPlaceholderData)
  const hits = searched.flatMap((resource, index) =>
    (answers[index]?.data ?? []).map((record): Hit => {
      const title = titleOf(resource, record)
      const view = resourceViews[resource.name]
      return {
        key: record.id,
        group: t('records'),
        title,
        text: nounOf(resource.singularLabel),
        leading: <Avatar name={title} isSquare={!view?.isPerson} />,
        run: () =>
          void navigate({ to: '/$resource/$recordId', params: { resource: resource.name, recordId: record.id } }),
      }
    }),
  )
  return { hits, isCurrent: text === wanted && isAnswered }
}

async function findRecords(resource: ResourceSchema, text: string, signal: AbortSignal): Promise<RecordData[]> {
  const query = new URLSearchParams({ query: text, limit: String(recordsPerResource) })
  return (await send<RecordData[]>('GET', resource.path, { query, signal })).body
}
