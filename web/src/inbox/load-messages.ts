import { addLaterMessages } from '../messages/messages.ts'
import { currentLanguage } from '../preferences/locale.ts'

/** Loads the texts of the inbox and of notifications, which only its two pages need. */
export const loadInboxMessages = async (): Promise<void> => {
  const [{ default: inbox }, { default: push }] = await Promise.all(
    currentLanguage() === 'de'
      ? [import('../messages/de/inbox.json'), import('../messages/de/push.json')]
      : [import('../messages/en/inbox.json'), import('../messages/en/push.json')],
  )
  addLaterMessages({ inbox, push })
}
