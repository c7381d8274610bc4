import { useTranslations } from 'use-intl'
import { change } from '../../access/act.ts'
import { covers } from '../../api/permissions.ts'
import { usePostOnce } from '../../api/post-once.ts'
import { useSchema } from '../../api/schema.ts'
import { useLabel } from '../../messages/labels.ts'
import { SelectField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { useGoTo } from '../location.ts'
import { type DeliveryDetails, path, section, type Webhook } from './data.ts'
import { typesOf, useEventLabel } from './event-types.ts'

/** Sends a test event of a type that the webhook's scopes show, and opens its delivery. */
export function SendTest({ webhook: { id, scopes }, onClose }: { webhook: Webhook; onClose(): void }) {
  const t = useTranslations('settings.webhooks')
  const schema = useSchema()
  const labelOf = useEventLabel()
  const resourceLabel = useLabel()
  const goTo = useGoTo()
  const post = usePostOnce()
  const scope = { action: 'list', permission: 'read', guarded: false } as const
  const shown = schema.filter(({ singular }) => covers(scopes, { ...scope, resource: singular }))
  return (
    <Form
      submitLabel={t('testAction')}
      onCancel={onClose}
      onSubmit={async ({ type = '' }) => {
        const { body } = await change(['webhooks'], () => post<DeliveryDetails>(`${path}/${id}/test`, { type }))
        onClose()
        goTo(section, { webhook: id, delivery: body.id })
      }}
    >
      {(errorOf) => (
        <SelectField
          name="type"
          label={t('eventType')}
          error={errorOf('type')}
          options={shown.flatMap((resource) =>
            typesOf(resource).map((type) => ({
              value: type,
              label: labelOf(type),
              group: resourceLabel(resource.label),
            })),
          )}
        />
      )}
    </Form>
  )
}
