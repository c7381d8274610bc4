import { useQuery } from '@tanstack/react-query'
import { lazyRouteComponent, Link, Outlet, useLoaderData, useLocation, useNavigate } from '@tanstack/react-router'
import {
  ChevronsUpDown,
  CircleHelp,
  LogOut,
  Menu as MenuIcon,
  Monitor,
  Moon,
  Search,
  Sun,
  UserRound,
} from 'lucide-react'
import { Suspense, useEffect, useRef, useState } from 'react'
import { useTranslations } from 'use-intl'
import { useSwitchOrganization } from '../access/switch-organization.ts'
import { apiOrigin } from '../api/session.ts'
import { useTrouble } from '../api/connection.ts'
import { useMe, useOrganization } from '../api/me.ts'
import { unreadCountQuery } from '../inbox/unread-count.ts'
import { setTheme, type Theme, themes, useTheme } from '../preferences/theme.ts'
import { pendingCountQuery } from '../suggestions/pending-count.ts'
import { IconButton } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Keys } from '../ui/keys.tsx'
import { Menu, MenuItem, MenuLink, MenuSeparator } from '../ui/menu.tsx'
import navLink from '../ui/nav-link.module.css'
import { Avatar } from '../ui/tag.tsx'
import { useNotifyFailure } from '../ui/toast.tsx'
import { useNavigationItems, type NavigationItem } from './navigation.ts'
import { useShortcuts } from '../ui/shortcuts.tsx'
import styles from './shell.module.css'

const Palette = lazyRouteComponent(() => import('./palette.tsx'), 'Palette')
const ShortcutHelp = lazyRouteComponent(() => import('./shortcut-help.tsx'), 'ShortcutHelp')

/** Remounts the application for another organization: nothing on the screen survives the switch. */
export function Shell() {
  const { organizationId } = useLoaderData({ from: '/application' })
  return <Frame key={organizationId} />
}

/** The frame of all pages that need a log-in: sidebar (a bottom bar on phones), palette and shortcuts. */
function Frame() {
  const t = useTranslations('shell')
  const navigate = useNavigate()
  const places = useNavigationItems()
  const [isPaletteOpen, setPaletteOpen] = useState(false)
  const [isHelpOpen, setHelpOpen] = useState(false)
  const wasPaletteOpen = useWasOpen(isPaletteOpen)
  const wasHelpOpen = useWasOpen(isHelpOpen)
  useFocusOnPage()
  useShortcuts([
    { keys: 'Mod+K', label: t('palette'), isGlobal: true, run: () => setPaletteOpen((isOpen) => !isOpen) },
    { keys: '?', label: t('shortcuts'), isGlobal: true, run: () => setHelpOpen(true) },
    ...places.flatMap(({ to, label, shortcut }) =>
      shortcut === undefined
        ? []
        : [{ keys: shortcut, label: t('goTo', { name: label }), isGlobal: true, run: () => void navigate({ to }) }],
    ),
  ])
  return (
    <div className={styles.shell}>
      <a href="#main" className={styles.skip}>
        {t('skip')}
      </a>
      <Sidebar places={places} onSearch={() => setPaletteOpen(true)} onHelp={() => setHelpOpen(true)} />
      <main id="main" tabIndex={-1} className={styles.main}>
        <ConnectionNotice />
        <Outlet />
      </main>
      <PhoneBar places={places} onSearch={() => setPaletteOpen(true)} />
      <Suspense>{wasPaletteOpen && <Palette isOpen={isPaletteOpen} onClose={() => setPaletteOpen(false)} />}</Suspense>
      <Suspense>{wasHelpOpen && <ShortcutHelp isOpen={isHelpOpen} onClose={() => setHelpOpen(false)} />}</Suspense>
    </div>
  )
}

/** For what is loaded when it is first opened, and stays mounted, so that the focus returns when it closes. */
function useWasOpen(isOpen: boolean): boolean {
  const [wasOpen, setWasOpen] = useState(false)
  if (isOpen && !wasOpen) setWasOpen(true)
  return wasOpen
}

/** Focuses a new page if it replaced the one that contained the focused element. */
function useFocusOnPage(): void {
  const pathname = useLocation({ select: (location) => location.pathname })
  const before = useRef(pathname)
  useEffect(() => {
    if (before.current === pathname) return undefined
    before.current = pathname
    const frame = requestAnimationFrame(() => {
      if (document.activeElement === document.body) document.getElementById('main')?.focus({ preventScroll: true })
    })
    return () => cancelAnimationFrame(frame)
  }, [pathname])
}

interface SidebarProps {
  places: readonly NavigationItem[]
  onSearch(): void
  onHelp(): void
}

function Sidebar({ places, onSearch, onHelp }: SidebarProps) {
  const t = useTranslations('shell')
  return (
    <nav className={styles.side} aria-label={t('main')}>
      <OrganizationMenu />
      <button type="button" className={styles.search} onClick={onSearch}>
        <Search size={15} strokeWidth={1.75} aria-hidden />
        <span>{t('searchShort')}</span>
        <Keys keys="Mod+K" />
      </button>
      <ul className={styles.nav}>
        {places.map((place) => (
          <li key={place.to}>
            <NavigationLink place={place} />
          </li>
        ))}
      </ul>
      <div className={styles.foot}>
        <AccountMenu />
        <ThemeMenu />
        <IconButton icon={CircleHelp} label={t('shortcuts')} shortcut="?" onClick={onHelp} />
      </div>
    </nav>
  )
}

function NavigationLink({ place, onClick }: { place: NavigationItem; onClick?: () => void }) {
  const { to, label, icon: Icon, isExact, counts } = place
  return (
    <Link to={to} className={navLink.link} activeOptions={{ exact: isExact === true }} {...(onClick && { onClick })}>
      <Icon size={16} strokeWidth={1.75} aria-hidden />
      {label}
      {counts && <Count of={counts} className={navLink.count} />}
    </Link>
  )
}

/** Higher counts are shown as `99+`. */
const maxCount = 99

interface CountProps {
  of: NonNullable<NavigationItem['counts']>
  className: string | undefined
}

function Count({ of, className }: CountProps) {
  const t = useTranslations('shell')
  const count = useQuery(of === 'inbox' ? unreadCountQuery : (pendingCountQuery as never)).data ?? 0
  if (count === 0) return undefined
  return (
    <span className={className}>
      {count > maxCount ? `${maxCount}+` : count}
      {of === 'inbox' && <span className="visually-hidden"> {t('unread')}</span>}
    </span>
  )
}

/** On phones: the first pages, and a sheet with the others. */
function PhoneBar({ places, onSearch }: { places: readonly NavigationItem[]; onSearch(): void }) {
  const t = useTranslations('shell')
  const [isOpen, setOpen] = useState(false)
  const close = () => setOpen(false)
  return (
    <nav className={styles.phoneBar} aria-label={t('main')}>
      {places.slice(0, 3).map(({ to, label, icon: Icon, isExact, counts }) => (
        <Link key={to} to={to} className={styles.phoneLink} activeOptions={{ exact: isExact === true }}>
          <Icon size={20} strokeWidth={1.75} aria-hidden />
          {label}
          {counts && <Count of={counts} className={styles.phoneCount} />}
        </Link>
      ))}
      <button type="button" className={styles.phoneLink} onClick={onSearch}>
        <Search size={20} strokeWidth={1.75} aria-hidden />
        {t('searchShort')}
      </button>
      <button type="button" className={styles.phoneLink} onClick={() => setOpen(true)}>
        <MenuIcon size={20} strokeWidth={1.75} aria-hidden />
        {t('menu')}
      </button>
      <Dialog title={t('menu')} isOpen={isOpen} onClose={close}>
        <div className={styles.sheet}>
          {places.map((place) => (
            <NavigationLink key={place.to} place={place} onClick={close} />
          ))}
        </div>
        <OrganizationMenu />
        <div className={styles.foot}>
          <AccountMenu />
          <ThemeMenu />
        </div>
      </Dialog>
    </nav>
  )
}

function OrganizationMenu() {
  const t = useTranslations('shell')
  const navigate = useNavigate()
  const switchTo = useSwitchOrganization()
  const notifyFailure = useNotifyFailure()
  const { organizations } = useMe()
  const { id, name } = useOrganization()
  return (
    <Menu
      trigger={
        <button type="button" className={styles.organization}>
          <Avatar name={name} isSquare />
          <span className="truncate">{name}</span>
          <ChevronsUpDown size={14} strokeWidth={1.75} aria-hidden />
        </button>
      }
    >
      {organizations.map((organization) => (
        <MenuItem
          key={organization.id}
          disabled={organization.id === id}
          onSelect={() => void switchTo(organization.id).catch(notifyFailure)}
        >
          {organization.name}
        </MenuItem>
      ))}
      <MenuSeparator />
      <MenuItem onSelect={() => void navigate({ to: '/settings' })}>{t('settings')}</MenuItem>
    </Menu>
  )
}

function AccountMenu() {
  const t = useTranslations('shell')
  const navigate = useNavigate()
  const { name } = useMe()
  return (
    <Menu
      trigger={
        <button type="button" className={styles.organization}>
          <Avatar name={name} />
          <span className="truncate">{name}</span>
        </button>
      }
    >
      <MenuItem icon={UserRound} onSelect={() => void navigate({ to: '/profile' })}>
        {t('profile')}
      </MenuItem>
      <MenuLink icon={CircleHelp} href={`${apiOrigin}/docs`}>
        {t('guides')}
      </MenuLink>
      <MenuSeparator />
      <MenuItem icon={LogOut} onSelect={() => void navigate({ to: '/logout', state: { isLogOutWanted: true } })}>
        {t('logOut')}
      </MenuItem>
    </Menu>
  )
}

const themeIcons = { system: Monitor, light: Sun, dark: Moon }

function ThemeMenu() {
  const t = useTranslations('shell')
  const current = useTheme()
  const labels: Record<Theme, string> = { system: t('themeSystem'), light: t('themeLight'), dark: t('themeDark') }
  return (
    <Menu trigger={<IconButton icon={themeIcons[current]} label={t('theme')} />}>
      {themes.map((theme) => (
        <MenuItem key={theme} icon={themeIcons[theme]} disabled={theme === current} onSelect={() => setTheme(theme)}>
          {labels[theme]}
        </MenuItem>
      ))}
    </Menu>
  )
}

/** Says that requests are waiting. They are retried automatically. */
function ConnectionNotice() {
  const t = useTranslations('shell.trouble')
  const trouble = useTrouble()
  const texts = { offline: t('offline'), unreachable: t('unreachable'), busy: t('busy') }
  return <div role="status">{trouble && <p className={styles.offline}>{texts[trouble]}</p>}</div>
}
