import { useTranslations } from 'use-intl'
import { send } from '../api/client.ts'
import { sendEdit } from '../api/edit.ts'
import type { RecordData, ResourceSchema } from '../api/schema.ts'
import { offerUndo } from '../ui/undo.ts'
import { useNoun } from '../messages/labels.ts'
import { notify } from '../ui/toast.tsx'
import { recordChanged, reportFailure } from './changes.ts'
import { reloadLists, removeFromLists } from './use-record-window.ts'

/** The result of a bulk action: the changed records, and the first refusal. */
interface BulkResult {
  ids: readonly string[]
  failures: number
  error: unknown
}

/** Concurrent requests: fast enough, without crowding out other users. */
const concurrency = 4

/** Sends one request per record; continues after a refusal, and counts it. */
async function forEach(
  ids: readonly string[],
  act: (id: string) => Promise<void>,
  onProgress: (done: number) => void,
): Promise<BulkResult> {
  const [done, queue]: [string[], string[]] = [[], [...ids]]
  let [failures, finished] = [0, 0]
  let error: unknown
  const work = async () => {
    for (let id = queue.shift(); id !== undefined; id = queue.shift()) {
      try {
        await act(id)
        done.push(id)
      } catch (reason) {
        failures++
        error ??= reason
      }
      onProgress(++finished)
    }
  }
  await Promise.all(Array.from({ length: concurrency }, work))
  return { ids: done, failures, error }
}

/** Deletes records, and removes them from every list, including lists that were opened meanwhile. */
export async function deleteRecords(
  resource: ResourceSchema,
  ids: readonly string[],
  onProgress: (done: number) => void,
): Promise<BulkResult> {
  const result = await forEach(ids, async (id) => void (await send('DELETE', `${resource.path}/${id}`)), onProgress)
  removeFromLists(resource.path, new Set(result.ids))
  return result
}

export async function restoreRecords(
  resource: ResourceSchema,
  ids: readonly string[],
  onProgress: (done: number) => void = () => undefined,
): Promise<BulkResult> {
  const result = await forEach(
    ids,
    async (id) => void (await send('POST', `${resource.path}/${id}/restore`)),
    onProgress,
  )
  reloadLists(resource.path)
  return result
}

/** Adds a tag to the records that lack it. */
export const addTag = (
  resource: ResourceSchema,
  ids: readonly string[],
  tag: string,
  onProgress: (done: number) => void,
): Promise<BulkResult> =>
  changeTags(resource, ids, (tags) => (tags.includes(tag) ? undefined : [...tags, tag]), onProgress)

async function changeTags(
  resource: ResourceSchema,
  ids: readonly string[],
  change: (tags: readonly string[]) => readonly string[] | undefined,
  onProgress: (done: number) => void = () => undefined,
): Promise<BulkResult> {
  const changed: string[] = []
  const result = await forEach(
    ids,
    async (id) => {
      const path = `${resource.path}/${id}`
      // The list may be older than the record. Changes by others are merged.
      const { body: seen } = await send<RecordData & { tags: string[] }>('GET', path)
      const tags = change(seen.tags)
      if (tags === undefined) return
      const { body: record } = await sendEdit({ path, resource: resource.name, seen, values: { tags } })
      changed.push(id)
      recordChanged(resource, record)
    },
    onProgress,
  )
  return { ...result, ids: changed }
}

/** Reports the result of a bulk action, and offers Undo. */
export function useBulkReport(resource: ResourceSchema) {
  const t = useTranslations('list')
  const nounOf = useNoun()
  const nameOf = (count: number) => nounOf(count === 1 ? resource.singularLabel : resource.label)
  const failed = ({ failures, error }: BulkResult) => {
    if (failures > 0) reportFailure(t('bulkFailed', { count: failures, name: nameOf(failures) }), error)
  }
  return {
    deleted(result: BulkResult) {
      failed(result)
      const count = result.ids.length
      if (count === 0) return
      const title = t('deleted', { count, name: nameOf(count) })
      if (resource.softDelete) offerUndo(title, () => restoreRecords(resource, result.ids).then(failed))
      else notify(title)
    },
    restored(result: BulkResult) {
      failed(result)
      const count = result.ids.length
      if (count > 0) notify(t('restored', { count, name: nameOf(count) }))
    },
    tagged(tag: string, result: BulkResult) {
      failed(result)
      const count = result.ids.length
      const remove = (tags: readonly string[]) => tags.filter((other) => other !== tag)
      offerUndo(t('tagged', { count, name: nameOf(count), tag }), () =>
        changeTags(resource, result.ids, remove).then(failed),
      )
    },
  }
}
