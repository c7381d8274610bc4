import { queryOptions } from '@tanstack/react-query'
import { useState } from 'react'
import { useLocale, useTranslations } from 'use-intl'
import { api, dataOf, type Schemas } from '../api/client.ts'
import { useRole } from '../api/me.ts'
import { queryClient } from '../api/query-client.ts'
import { notify, useNotifyFailure } from '../ui/toast.tsx'
import { reloadLists } from '../views/use-record-window.ts'

type ExampleData = Schemas['ExampleData']

export const exampleDataQuery = queryOptions({
  queryKey: ['example-data'],
  queryFn: () => dataOf(api.GET('/v5/example-data')),
})

/** Owners and administrators fill and empty an organization. */
export function useMayUseExamples(): boolean {
  const role = useRole()
  return role === 'owner' || role === 'admin'
}

export const isAnyExample = (examples: ExampleData | undefined): boolean =>
  examples !== undefined && sumOf(examples) > 0

const sumOf = (counts: ExampleData): number => Object.values(counts).reduce((sum, count) => sum + count, 0)

/** Creates example data in the language of the page, and removes it. */
export function useExamples() {
  const t = useTranslations('home.examples')
  const isGerman = useLocale().startsWith('de')
  const notifyFailure = useNotifyFailure()
  const [isBusy, setBusy] = useState(false)
  const run = async (action: () => Promise<string>) => {
    if (isBusy) return
    setBusy(true)
    try {
      notify(await action())
      for (const name of ['contacts', 'companies', 'deals', 'tasks']) reloadLists(`/v5/${name}`)
      await queryClient.invalidateQueries()
    } catch (error) {
      notifyFailure(error)
    } finally {
      setBusy(false)
    }
  }
  return {
    isBusy,
    fill: () =>
      run(async () => {
        await dataOf(api.POST('/v5/example-data', { body: { language: isGerman ? 'de' : 'en' } }))
        return t('filled')
      }),
    remove: () =>
      run(async () => {
        const { kept } = await dataOf(api.DELETE('/v5/example-data'))
        const count = sumOf(kept)
        return count === 0 ? t('removed') : t('removedExcept', { count })
      }),
  }
}
