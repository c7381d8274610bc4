import { addLaterMessages } from '../messages/messages.ts'
import { currentLanguage } from '../preferences/locale.ts'

/** Loads the texts of the inbox, which only its two pages need. */
export const loadInboxMessages = async (): Promise<void> => {
  const { default: inbox } =
    currentLanguage() === 'de' ? await import('../messages/de/inbox.json') : await import('../messages/en/inbox.json')
  addLaterMessages({ inbox })
}
