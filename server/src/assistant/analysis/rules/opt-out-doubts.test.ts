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
])('what is negated, not about mail, or a footer is not an opt-out: %j', (text) => {
  expect(effectOf(text)).toBe('none')
})

// Written after the rules, without a look at them.
test.each([
  ['Kindly take our address off your mailing list.', 'acts'],
  ['We no longer wish to receive your emails.', 'acts'],
  ["I'd like to opt out of your marketing emails.", 'acts'],
  ['Please stop sending me these newsletters.', 'acts'],
  ['Never email me again.', 'acts'],
  ['Erase my personal data in line with Article 17.', 'acts'],
  ['I request deletion of all my data.', 'acts'],
  ['I object to the use of my data for direct marketing.', 'acts'],
  ['Bitte nehmt uns aus eurem Newsletter-Verteiler.', 'acts'],
  ['Ich möchte keine Mails mehr von Ihnen bekommen.', 'acts'],
  ['Bitte löschen Sie sämtliche Daten, die Sie über mich gespeichert haben.', 'acts'],
  ['Ich widerspreche der Verarbeitung meiner Daten.', 'acts'],
  ['Ich verlange die Löschung meiner personenbezogenen Daten.', 'acts'],
  ['Melden Sie mich bitte vom Newsletter ab.', 'acts'],
  ['Would you please unsubscribe us from these mails?', 'acts'],
  ['Könnten Sie mich bitte aus dem Verteiler nehmen?', 'acts'],
  ['Ms Hall told me to remove her from our newsletter.', 'waits'],
  ['Customer wants no more emails from us.', 'waits'],
  ['Unless you fix the invoice, remove us from your mailing list.', 'waits'],
  ['Falls das so weitergeht, melden Sie mich vom Newsletter ab.', 'waits'],
  ['Can I be removed from your mailing list?', 'waits'],
  ['Kundin verlangt die Löschung ihrer Daten.', 'waits'],
  ['Wie kann ich mich vom Newsletter abmelden?', 'waits'],
  ['Please unsubscribe my boss as well.', 'waits/none'],
  ["Stop emailing me or I'll have to buy something, lol", 'waits/none'],
  ['Her exact words: "stop emailing me".', 'waits/none'],
  ['Please stop phoning me.', 'waits/none'],
  ['Your spam filter marked your newsletter, fix it.', 'waits/none'],
  ['When did I get removed from your mailing list?', 'none'],
  ['I never asked to be removed from your newsletter.', 'none'],
  ['Please keep me on your mailing list.', 'none'],
  ['Please put me back on the newsletter.', 'none'],
  ['Cancel our order of 20 chairs.', 'none'],
  ['Please remove me from the meeting invite.', 'none'],
  ['Take us off the waiting list for the beta.', 'none'],
  ['Please end my trial subscription.', 'none'],
  ['Unsubscribe me from the training course on Friday.', 'none'],
  ['Do not email me before Monday.', 'none'],
  ['Bitte nehmen Sie uns von der Teilnehmerliste.', 'none'],
  ['Bitte stornieren Sie unser Abo für das Premium-Paket.', 'none'],
  ['Nehmen Sie mich auf keinen Fall aus dem Verteiler!', 'none'],
  ['Wer hat mich vom Newsletter abgemeldet?', 'none'],
  ['Bitte tragen Sie mich wieder in den Verteiler ein.', 'none'],
  ['Schreiben Sie mir bitte nicht vor Montag.', 'none'],
  ['Sie wurden angemeldet. Zum Abmelden klicken Sie hier.', 'none'],
  ['You receive this email because you signed up. To unsubscribe, click below.', 'none'],
])('unseen: %j %s', (text, effects) => {
  expect(effects.split('/')).toContain(effectOf(text))
})
