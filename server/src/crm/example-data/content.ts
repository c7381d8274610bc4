import type { Language } from '../../platform/model/languages.ts'

/** A text in each language. */
type Texts = Readonly<Record<Language, string>>

interface ExampleCompany {
  name: string
  domain: string
  industry: Texts
  employees: number
  city: string
  country: string
}

/** Fictional, under a top-level domain that nobody can register (RFC 2606). */
export const companies: readonly ExampleCompany[] = [
  ['Nordwind Logistik', 'nordwind', 'Logistics', 'Logistik', 240, 'Hamburg', 'DE'],
  ['Blue Heron Software', 'blueheron', 'Software', 'Software', 85, 'Bristol', 'GB'],
  ['Alpenblick Hotels', 'alpenblick', 'Hospitality', 'Gastgewerbe', 410, 'Innsbruck', 'AT'],
  ['Castillo Foods', 'castillofoods', 'Food', 'Lebensmittel', 1200, 'Valencia', 'ES'],
  ['Fjord Energi', 'fjordenergi', 'Energy', 'Energie', 330, 'Bergen', 'NO'],
  ['Atelier Moreau', 'ateliermoreau', 'Design', 'Design', 14, 'Lyon', 'FR'],
  ['Helix Diagnostics', 'helixdx', 'Health', 'Gesundheit', 96, 'Basel', 'CH'],
  ['Maple & Stone', 'maplestone', 'Construction', 'Bau', 57, 'Toronto', 'CA'],
].map(([name, domain, en, de, employees, city, country]) => ({
  name: String(name),
  domain: `${String(domain)}.example`,
  industry: { en: String(en), de: String(de) },
  employees: Number(employees),
  city: String(city),
  country: String(country),
}))

const titles = {
  buyer: { en: 'Head of Purchasing', de: 'Leitung Einkauf' },
  chief: { en: 'Managing Director', de: 'Geschäftsführung' },
  it: { en: 'IT Manager', de: 'IT-Leitung' },
  marketing: { en: 'Marketing Manager', de: 'Leitung Marketing' },
} as const satisfies Record<string, Texts>

interface ExampleContact {
  firstName: string
  lastName: string
  title: Texts
  /** Of `companies`. */
  company: number
}

const people: readonly (readonly [first: string, last: string, title: keyof typeof titles, company: number])[] = [
  ['Mara', 'Lindner', 'chief', 0],
  ['Jonas', 'Petersen', 'buyer', 0],
  ['Aylin', 'Demir', 'it', 0],
  ['Ole', 'Hansen', 'marketing', 0],
  ['Grace', 'Whitfield', 'chief', 1],
  ['Tom', 'Ashdown', 'it', 1],
  ['Priya', 'Raman', 'buyer', 1],
  ['Ewan', 'Clarke', 'marketing', 1],
  ['Lukas', 'Moser', 'chief', 2],
  ['Theresa', 'Gruber', 'buyer', 2],
  ['Valentin', 'Huber', 'it', 2],
  ['Anna', 'Steiner', 'marketing', 2],
  ['Lucía', 'Castillo', 'chief', 3],
  ['Diego', 'Navarro', 'buyer', 3],
  ['Marta', 'Ferrer', 'it', 3],
  ['Pablo', 'Ibáñez', 'marketing', 3],
  ['Ingrid', 'Solberg', 'chief', 4],
  ['Henrik', 'Dahl', 'buyer', 4],
  ['Sunniva', 'Berg', 'it', 4],
  ['Camille', 'Moreau', 'chief', 5],
  ['Hugo', 'Lambert', 'marketing', 5],
  ['Nina', 'Keller', 'chief', 6],
  ['Reto', 'Brunner', 'buyer', 6],
  ['Sofia', 'Meier', 'it', 6],
  ['David', 'Frei', 'marketing', 6],
  ['Olivia', 'Tremblay', 'chief', 7],
  ['Noah', 'Campbell', 'buyer', 7],
  ['Chloe', 'Gagnon', 'it', 7],
  ['Liam', 'Stewart', 'marketing', 7],
  ['Emma', 'Fraser', 'buyer', 7],
]

export const contacts: readonly ExampleContact[] = people.map(([firstName, lastName, title, company]) => ({
  firstName,
  lastName,
  title: titles[title],
  company,
}))

/** `stage`: of the open stages, as a share of them. `days` until it is expected to close. */
export const deals = [
  { name: { en: 'Fleet tracking', de: 'Flottenortung' }, company: 0, amount: '48000', stage: 0.1, days: 60 },
  { name: { en: 'Support contract', de: 'Wartungsvertrag' }, company: 1, amount: '12500.50', stage: 0.9, days: 10 },
  { name: { en: 'Booking system', de: 'Buchungssystem' }, company: 2, amount: '36900', stage: 0.5, days: 30 },
  {
    name: { en: 'Cold chain sensors', de: 'Sensoren für die Kühlkette' },
    company: 3,
    amount: '82000',
    stage: 0.3,
    days: 45,
  },
  { name: { en: 'Grid monitoring', de: 'Netzüberwachung' }, company: 4, amount: '150000', stage: 0.6, days: 90 },
  { name: { en: 'New website', de: 'Neue Website' }, company: 5, amount: '7800', stage: 0.8, days: 14 },
] as const

/** `days` from today until it is due. */
export const tasks = [
  { title: { en: 'Send the offer', de: 'Angebot schicken' }, contact: 1, days: 0, priority: 'high' },
  {
    title: { en: 'Call about the contract', de: 'Wegen des Vertrags anrufen' },
    contact: 4,
    days: 0,
    priority: 'normal',
  },
  { title: { en: 'Ask for feedback', de: 'Nach Rückmeldung fragen' }, contact: 8, days: -1, priority: 'normal' },
  { title: { en: 'Prepare the demo', de: 'Vorführung vorbereiten' }, contact: 13, days: 2, priority: 'high' },
  { title: { en: 'Share the case study', de: 'Fallstudie schicken' }, contact: 16, days: 4, priority: 'low' },
  { title: { en: 'Plan the kick-off', de: 'Auftakt planen' }, contact: 19, days: 6, priority: 'normal' },
] as const

export const notes = [
  {
    contact: 1,
    text: {
      en: 'Good first call. They compare three vendors and decide by the end of the month. **Budget is approved.**',
      de: 'Gutes erstes Gespräch. Sie vergleichen drei Anbieter und entscheiden bis Monatsende. **Das Budget ist freigegeben.**',
    },
  },
  {
    contact: 4,
    text: {
      en: 'Happy with the trial. Please send me the contract, we would like to start in the new quarter.',
      de: 'Mit dem Test zufrieden. Bitte schicken Sie mir den Vertrag, wir möchten im neuen Quartal beginnen.',
    },
  },
  {
    contact: 8,
    text: {
      en: 'Could you call me next week? I have questions about the booking interface.',
      de: 'Können Sie mich nächste Woche anrufen? Ich habe Fragen zur Schnittstelle für Buchungen.',
    },
  },
  {
    contact: 13,
    text: {
      en: 'Needs:\n\n- sensors for 40 trucks\n- alarms by text message\n- a rollout before summer',
      de: 'Bedarf:\n\n- Sensoren für 40 Lkw\n- Alarme per SMS\n- Einführung vor dem Sommer',
    },
  },
  {
    contact: 21,
    text: {
      en: 'Met at the trade fair in Basel. Interested, but not before next year.',
      de: 'Auf der Messe in Basel getroffen. Interessiert, aber nicht vor dem nächsten Jahr.',
    },
  },
] as const satisfies readonly { contact: number; text: Texts }[]

/** Every example has it, so that a list can show or hide them. */
export const exampleTag: Texts = { en: 'example', de: 'Beispiel' }
