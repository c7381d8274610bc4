import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useLocale, useTranslations } from 'use-intl'
import { change, useAct } from '../access/act.ts'
import { withRecentAuthentication } from '../access/reauthenticate.tsx'
import { useSwitchOrganization } from '../access/switch-organization.ts'
import { api, dataOf, send } from '../api/client.ts'
import { sendEdit } from '../api/edit.ts'
import { ApiError } from '../api/error.ts'
import { meQuery, useMe, useOrganization, useRole } from '../api/me.ts'
import { queryClient } from '../api/query-client.ts'
import { exampleDataQuery, isAnyExample, useExamples, useMayUseExamples } from '../home/example-data.ts'
import { Button } from '../ui/button.tsx'
import { CopyField } from '../ui/copy-field.tsx'
import { ConfirmDialog, Dialog } from '../ui/dialog.tsx'
import { SelectField, TextField } from '../ui/field.tsx'
import { timeZone as browserZone } from '../preferences/locale.ts'
import { Form } from '../ui/form.tsx'
import { TimeZoneField } from '../ui/time-zone-field.tsx'
import { List, ListRow, PageContent, Panel } from '../ui/page.tsx'
import { notify } from '../ui/toast.tsx'
import { ConfirmButton } from './dialog-buttons.tsx'
import { useGoTo, useSectionSearch } from './location.ts'
import { useMay } from '../api/permissions.ts'
import { SectionBar } from './section-bar.tsx'
import styles from './settings.module.css'

/** The organization's name, time zone, currency and second factor; leaving it, and creating another one. */
export function OrganizationSettings() {
  const t = useTranslations('settings.organization')
  const may = useMay()
  const { id } = useOrganization()
  return (
    <>
      <SectionBar title={t('title')} />
      <PageContent isNarrow>
        <Panel title={t('general')}>
          {may('organization:update:write') ? <GeneralForm /> : <GeneralFacts />}
          <CopyField label={t('id')} value={id} />
        </Panel>
        <SecondFactor />
        {useMayUseExamples() && <Examples />}
        <Panel title={t('membership')}>
          <List label={t('membership')}>
            <CreateRow />
            <LeaveRow />
            <DeleteRow />
          </List>
        </Panel>
      </PageContent>
    </>
  )
}

function GeneralForm() {
  const t = useTranslations('settings.organization')
  const common = useTranslations('common')
  const locale = useLocale()
  // Changes that somebody else saves meanwhile do not replace the person's input.
  const [seen, setSeen] = useState(useOrganization())
  const { name, timeZone, defaultCurrency, updatedAt } = seen
  const currencyNames = new Intl.DisplayNames(locale, { type: 'currency' })
  return (
    <Form
      key={updatedAt}
      draft="organization"
      submitLabel={common('save')}
      onSubmit={async (values) => {
        const store = () => sendEdit<typeof seen>({ ...edit, seen, values: { name: '', ...values } })
        setSeen((await change(['organization'], store)).body)
        notify(t('saved'))
      }}
    >
      {(errorOf) => (
        <>
          <TextField label={t('name')} name="name" defaultValue={name} error={errorOf('name')} autoComplete="off" />
          <div className={styles.columns}>
            <TimeZoneField label={t('timeZone')} name="timeZone" current={timeZone} error={errorOf('timeZone')} />
            <SelectField
              label={t('currency')}
              name="defaultCurrency"
              defaultValue={defaultCurrency}
              error={errorOf('defaultCurrency')}
              options={withCurrent(currencies, defaultCurrency).map((value) => ({
                value,
                label: `${value} · ${currencyNames.of(value) ?? value}`,
              }))}
            />
          </div>
        </>
      )}
    </Form>
  )
}

/** The organization has no entity tag. */
const edit = { path: '/v5/organization', resource: 'organization' }

const currencies = Intl.supportedValuesOf('currency')

/** The service may know values that this browser does not. */
const withCurrent = (values: readonly string[], current: string): readonly string[] =>
  values.includes(current) ? values : [current, ...values]

function GeneralFacts() {
  const t = useTranslations('settings.organization')
  const { name, timeZone, defaultCurrency } = useOrganization()
  return (
    <List label={t('general')}>
      <ListRow title={name} text={t('name')} />
      <ListRow title={timeZone} text={t('timeZone')} />
      <ListRow title={defaultCurrency} text={t('currency')} />
    </List>
  )
}

/** The first steps offer example data too, but they can be closed. */
function Examples() {
  const t = useTranslations('home.examples')
  const { data: examples } = useQuery(exampleDataQuery)
  const { isBusy, fill, remove } = useExamples()
  const isFilled = isAnyExample(examples)
  return (
    <Panel title={t('title')}>
      <List label={t('title')}>
        <ListRow title={t(isFilled ? 'present' : 'absent')} text={t(isFilled ? 'removeText' : 'fillText')}>
          {examples && (
            <Button isBusy={isBusy} onClick={() => void (isFilled ? remove() : fill())}>
              {t(isFilled ? 'remove' : 'fill')}
            </Button>
          )}
        </ListRow>
      </List>
    </Panel>
  )
}

/** Only owners can change this; turning it on locks out members without a second factor. */
function SecondFactor() {
  const t = useTranslations('settings.organization')
  const act = useAct()
  const isOwner = useRole() === 'owner'
  const { requiresSecondFactor } = useOrganization()
  const [isConfirming, setConfirming] = useState(false)
  const require = (value: boolean) =>
    act(() => sendEdit({ ...edit, seen: { requiresSecondFactor }, values: { requiresSecondFactor: value } }), {
      refresh: ['organization'],
      done: t(value ? 'factorRequired' : 'factorOptional'),
    })
  return (
    <Panel title={t('security')}>
      <List label={t('security')}>
        <ListRow title={t('secondFactor')} text={t(requiresSecondFactor ? 'factorOnText' : 'factorOffText')}>
          {isOwner && (
            <Button onClick={() => (requiresSecondFactor ? void require(false) : setConfirming(true))}>
              {t(requiresSecondFactor ? 'factorStop' : 'factorRequire')}
            </Button>
          )}
        </ListRow>
      </List>
      <ConfirmDialog
        title={t('factorConfirm')}
        description={t('factorConfirmText')}
        action={t('factorRequire')}
        isOpen={isConfirming}
        onClose={() => setConfirming(false)}
        onConfirm={() => require(true)}
      />
    </Panel>
  )
}

/** The form is open at `?new=true`, the link from the organization menu. */
function CreateRow() {
  const t = useTranslations('settings.organization')
  const common = useTranslations('common')
  const goTo = useGoTo()
  const switchTo = useSwitchOrganization()
  const isOpen = useSectionSearch().new === 'true'
  const close = () => goTo('organization')
  return (
    <ListRow title={t('another')} text={t('anotherText')}>
      <Button onClick={() => goTo('organization', { new: 'true' })}>{common('create')}</Button>
      <Dialog title={t('createTitle')} isOpen={isOpen} onClose={close}>
        <Form
          draft="new organization"
          submitLabel={common('create')}
          onCancel={close}
          onSubmit={async ({ name = '', timeZone }) => {
            const created = await withRecentAuthentication(() =>
              dataOf(api.POST('/v5/me/organizations', { body: { name, ...(timeZone && { timeZone }) } })),
            )
            await switchTo(created.id)
          }}
        >
          {(errorOf) => (
            <>
              <TextField label={t('name')} name="name" error={errorOf('name')} autoComplete="off" />
              <TimeZoneField label={t('timeZone')} name="timeZone" current={browserZone} error={errorOf('timeZone')} />
            </>
          )}
        </Form>
      </Dialog>
    </ListRow>
  )
}

function LeaveRow() {
  const t = useTranslations('settings.organization')
  const act = useAct()
  const navigate = useNavigate()
  const switchTo = useSwitchOrganization()
  const { id, name } = useOrganization()
  const { organizations } = useMe()
  const leave = () =>
    act(
      async () => {
        await send('DELETE', `/v5/me/organizations/${id}`)
        const other = organizations.find((organization) => organization.id !== id)
        await (other ? switchTo(other.id) : navigate({ to: '/logout' }))
      },
      { refresh: [], done: t('left', { name }) },
    )
  return (
    <ListRow title={t('leaveTitle', { name })} text={t('leaveText')}>
      <ConfirmButton
        label={t('leaveAction')}
        title={t('leaveConfirm', { name })}
        description={t('leaveConfirmText')}
        onConfirm={leave}
      />
    </ListRow>
  )
}

/** For owners. The organization refuses access at once; an owner can undo the deletion for a month. */
function DeleteRow() {
  const t = useTranslations('settings.organization')
  const { id, name } = useOrganization()
  const isOwner = useRole() === 'owner'
  const [isOpen, setOpen] = useState(false)
  const close = () => setOpen(false)
  if (!isOwner) return null
  return (
    <ListRow title={t('deleteTitle', { name })} text={t('deleteText')}>
      <Button onClick={() => setOpen(true)}>{t('deleteAction')}</Button>
      <Dialog title={t('deleteConfirm', { name })} description={t('deleteConfirmText')} isOpen={isOpen} onClose={close}>
        <Form
          submitLabel={t('deleteAction')}
          submitKind="danger"
          onCancel={close}
          onSubmit={async ({ name: typed = '' }) => {
            if (typed.trim() !== name) throw wrongName(t('deleteWrong', { name }))
            const path = { organizationId: id }
            await withRecentAuthentication(() =>
              dataOf(api.POST('/v5/me/organizations/{organizationId}/deletion', { params: { path }, body: { name } })),
            )
            // The organization refuses the session now; a refused page is left.
            await queryClient.invalidateQueries({ queryKey: meQuery.queryKey })
          }}
        >
          {(errorOf) => <TextField label={t('deleteName')} name="name" error={errorOf('name')} autoComplete="off" />}
        </Form>
      </Dialog>
    </ListRow>
  )
}

const wrongName = (message: string): ApiError => {
  const details = [{ field: 'name', message }]
  return new ApiError(422, { code: 'invalid_field_value', message, description: message, details }, undefined)
}
