import type { ReactNode } from 'react'
import { IntlProvider, useLocale, useMessages } from 'use-intl'
import { laterMessages } from './messages.ts'

/** A page with its own messages, which its route has loaded. */
export function LaterMessages({ children }: { children: ReactNode }) {
  return (
    <IntlProvider locale={useLocale()} messages={{ ...useMessages(), ...laterMessages() }}>
      {children}
    </IntlProvider>
  )
}
