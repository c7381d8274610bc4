import { addLaterMessages, loadRecordMessages } from '../messages/messages.ts'
import { currentLanguage } from '../preferences/locale.ts'

/** Loads the texts of the inbox and of notifications, which only its two pages need, and of the days of timelines. */
export const loadInboxMessages = async (): Promise<void> => {
  const language = currentLanguage()
  const [{ default: inbox }, { default: push }] = await Promise.all([
    ...(language === 'de'
      ? ([import('../messages/de/inbox.json'), import('../messages/de/push.json')] as const)
      : ([import('../messages/en/inbox.json'), import('../messages/en/push.json')] as const)),
    loadRecordMessages(language),
  ])
  addLaterMessages({ inbox, push })
}
