import { expect, test } from 'vitest'
import { factsFor } from '../evaluation/labels.ts'
import { interpret } from './rules.ts'

/** `acts`: mail stops at once; `waits`: a person decides; `none`: nothing is suggested. */
function effectOf(text: string): 'acts' | 'waits' | 'none' {
  const { actions } = interpret(text, factsFor('Europe/Berlin')).interpretation
  const found = actions.find(({ type }) => type === 'suppress')
  if (!found) return 'none'
  return found.confidence >= 0.7 ? 'acts' : 'waits'
}

test.each([
  'Please delete all my data under GDPR.',
  'Löschen Sie meine Daten.',
  'I exercise my right to be forgotten.',
  'Right to be forgotten, please delete everything you have on me.',
  'Pursuant to Art. 17 GDPR please erase my data.',
  'Hiermit lege ich Widerspruch gegen Werbung ein.',
  'Widerspruch gegen Werbung',
  'Could you please take me off your mailing list?',
  'Can you unsubscribe me please?',
  'Wären Sie so nett und nehmen mich aus dem Verteiler? Bitte entfernen Sie mich aus dem Verteiler.',
  'Please do not contact me again.',
  'Bitte aus dem Verteiler nehmen.',
  'Bitte keine Werbung mehr.',
  'Ich berufe mich auf mein Recht auf Löschung nach Art. 17 DSGVO.',
  'Please remove my email from your database.',
])('a wish of the author about mail acts by itself: %j', (text) => {
  expect(effectOf(text)).toBe('acts')
})

test.each([
  'Please unsubscribe my colleague.',
  'She asked us to unsubscribe her.',
  'If you cannot lower the price, take me off your list.',
  'Unsubscribe me before I buy everything, haha!',
  'How do I unsubscribe?',
  'He said: "Take me off your list!"',
  'Wenn Sie den Preis nicht senken, nehmen Sie mich aus dem Verteiler.',
  'Meine Kollegin möchte vom Newsletter abgemeldet werden.',
  'Er hat uns gebeten, ihn aus dem Verteiler zu nehmen.',
  'Stop calling me.',
  'I never signed up for your newsletter.',
  'Do you support the right to be forgotten?',
  'Fwd:\n---------- Forwarded message ---------\nFrom: Ann\n\nUnsubscribe me',
])('what is asked, reported, quoted, conditional or a joke waits for a person: %j', (text) => {
  expect(effectOf(text)).toBe('waits')
})

test.each([
  'Why did you take me off your list? I want your mails.',
  'Please cancel my subscription to the pro plan.',
  'Please stop the delivery for now.',
  'Take me off the guest list for Friday.',
  'Thanks, got it.\n\nOn Mon, Tom wrote:\n> please unsubscribe me',
  '> unsubscribe me\n\nNo way, I love your product!',
  'Great stuff.\n\nClick here to unsubscribe',
  "Please don't unsubscribe me!",
  'Please resubscribe me to the newsletter.',
  'Bitte melden Sie mich nicht ab.',
  'Warum haben Sie mich aus dem Verteiler genommen? Ich möchte weiterhin Ihre Mails erhalten.',
  'Bitte streichen Sie mich von der Gästeliste.',
  'Bitte kündigen Sie mein Abo im Pro-Tarif.',
  'Do not contact me before January.',
  'Please do not email me until next week, I am swamped.',
  'Stop calling me, email is fine.',
  'Why was I unsubscribed? Put me back on the list please.',
  'Unsubscribe me from the Slack channel.',
  'Remove me from the project team.',
])('what is negated, about something else than mail, or a footer is no opt-out: %j', (text) => {
  expect(effectOf(text)).toBe('none')
})
