import { useQuery } from '@tanstack/react-query'
import { useTranslations } from 'use-intl'
import { change } from '../access/act.ts'
import { type Schemas, send, sendAll } from '../api/client.ts'
import { editOf, sendEdit } from '../api/edit.ts'
import { ApiError } from '../api/error.ts'
import { usePostOnce } from '../api/post-once.ts'
import { useSeen } from '../api/use-seen.ts'
import { useDraft } from '../preferences/drafts.ts'
import { Loading, NotFound } from '../ui/states.tsx'
import { Button } from '../ui/button.tsx'
import { Failure } from '../ui/empty-state.tsx'
import { TextField } from '../ui/field.tsx'
import { Form, type FormValues } from '../ui/form.tsx'
import { PageContent, Panel } from '../ui/page.tsx'
import { notify } from '../ui/toast.tsx'
import { covers, useScopes } from '../api/permissions.ts'
import { ReachFields } from './reach-fields.tsx'
import { type CustomRole, type Reach, seesAll } from './records.ts'
import { ScopePicker, scopeText } from './scope-picker.tsx'
import { SectionBar } from './section-bar.tsx'
import styles from './settings.module.css'

interface RolePageProps {
  /** Undefined to create a role. */
  roleId: string | undefined
  onClose(): void
}

/** Creates a role, or changes the role in the URL. */
export function RolePage({ roleId, onClose }: RolePageProps) {
  const t = useTranslations('settings.customRoles')
  const role = useQuery({
    queryKey: ['roles', roleId],
    queryFn: async () => (await send<CustomRole>('GET', `/v5/roles/${roleId}`)).body,
    enabled: roleId !== undefined,
  })
  const builtIn = useQuery({
    queryKey: ['roles', 'built-in'],
    queryFn: () => sendAll<Schemas['BuiltInRoles'][number]>('/v5/roles/built-in'),
  })
  if (role.error instanceof ApiError && role.error.status === 404) return <NotFound />
  const failed = [role, builtIn].find(({ error }) => error)
  const isReady = builtIn.data !== undefined && (roleId === undefined || role.data !== undefined)
  return (
    <>
      <SectionBar
        title={roleId === undefined ? t('createTitle') : (role.data?.name ?? t('title'))}
        parent={{ section: 'roles', title: t('title') }}
      />
      <PageContent isNarrow>
        {failed?.error && <Failure error={failed.error} onRetry={() => void failed.refetch()} />}
        {isReady && <RoleForm key={roleId} role={role.data} builtIn={builtIn.data} onClose={onClose} />}
        {!isReady && !failed && <Loading />}
      </PageContent>
    </>
  )
}

interface RoleFormProps {
  role: CustomRole | undefined
  builtIn: Schemas['BuiltInRoles']
  onClose(): void
}

function RoleForm({ role, builtIn, onClose }: RoleFormProps) {
  const t = useTranslations('settings.customRoles')
  const roleNames = useTranslations('settings.roles')
  const common = useTranslations('common')
  const scopesOf = (name: string) => builtIn.find((one) => one.role === name)?.scopes ?? []
  // Most roles can do what members can, for fewer records.
  const draft = `role ${role?.id ?? 'new'}`
  const [scopes, setScopes] = useDraft<readonly string[]>(`${draft} scopes`, () => role?.scopes ?? scopesOf('member'))
  const [reach, setReach] = useDraft<Reach>(`${draft} reach`, () => ({ ...seesAll, ...role?.reach }))
  const post = usePostOnce()
  const seen = useSeen(role)
  const submit = async ({ name = '', description }: FormValues) => {
    const body = { name, description: description ?? null, scopes, reach }
    await change(['roles'], () =>
      seen ? sendEdit<CustomRole>({ ...editOf('roles', seen), values: body }) : post<CustomRole>('/v5/roles', body),
    )
    notify(t('saved', { name }))
    onClose()
  }
  const presets = (['viewer', 'member'] as const).map((name) => ({
    label: t('like', { role: roleNames(name) }),
    scopes: scopesOf(name),
  }))
  return (
    <Form
      draft={draft}
      submitLabel={role ? common('save') : t('create')}
      onCancel={onClose}
      onSubmit={submit}
      isGuarded
    >
      {(errorOf) => (
        <>
          <Panel title={t('role')}>
            <div className={styles.columns}>
              <TextField
                name="name"
                label={t('name')}
                hint={t('nameHint')}
                defaultValue={role?.name}
                error={errorOf('name')}
                autoComplete="off"
              />
              <TextField
                name="description"
                label={t('description')}
                isOptional
                defaultValue={role?.description ?? ''}
                error={errorOf('description')}
                autoComplete="off"
              />
            </div>
          </Panel>
          <ReachFields reach={reach} error={errorOf('reach')} onChange={setReach} />
          <ScopePicker
            text={t('scopesText')}
            presets={presets}
            scopes={scopes}
            error={errorOf('scopes')}
            onChange={setScopes}
          />
          <MissingScopes scopes={scopes} onAdd={(missing) => setScopes([...scopes, ...missing])} />
        </>
      )}
    </Form>
  )
}

/** Scopes that the application needs on every page. */
const neededScopes = ['user:get:read', 'organization:get:read', 'schema:get:read'].map(scopeText)

/** Warns that nobody could use the application with this role. */
function MissingScopes({ scopes, onAdd }: { scopes: readonly string[]; onAdd(missing: readonly string[]): void }) {
  const t = useTranslations('settings.customRoles')
  const all = useScopes()
  const missing = all.filter((scope) => neededScopes.includes(scope.scope) && !covers(scopes, scope))
  if (missing.length === 0) return null
  return (
    <div role="status" className={styles.stack}>
      <p>{t('missing')}</p>
      <div className={styles.buttons}>
        <Button onClick={() => onAdd(missing.map(({ scope }) => scope))}>{t('addMissing')}</Button>
      </div>
    </div>
  )
}
