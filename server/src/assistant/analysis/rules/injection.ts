// Signs that a text addresses a machine or hides something. Such a note gets no actions, so a false alarm costs a
// suggestion; the labelled notes have several harmless texts about machines, prompts and messages to ignore.

/** Is the text written for a machine rather than for a person? */
export function looksLikeInjection(text: string): boolean {
  if (hiddenSigns.some((sign) => sign.test(text))) return true
  const lower = text.toLowerCase()
  return visibleSigns.some((sign) => [lower, plainLetters(lower), joinedLetters(lower)].some((form) => sign.test(form)))
}

const hiddenSigns: readonly RegExp[] = [
  // Tag characters, except in the flags of England, Scotland and Wales.
  /(?<!\u{1F3F4}[\u{E0000}-\u{E007F}]*)[\u{E0000}-\u{E007F}]/u,
  /(?:[\p{L}\p{N}][\u200B\u2060\uFEFF\u180E\u200C][^\u200B\u2060\uFEFF\u180E\u200C]{0,3}){3}/u,
  /[\u202A\u202B\u202D\u202E\u2066-\u2068]/,
  // Base64 or hexadecimal text outside an address.
  /(?<![/\w=&?.-])(?=[\w+/]{0,60}[A-Z])(?=[\w+/]{0,60}[a-z])(?=[\w+/]{0,80}\d)[A-Za-z\d+/]{40,}={0,2}/,
  /(?<![/\w])[\da-f]{64,}/i,
  /(?:%[\da-f]{2}){6}/i,
  /(?:&#x?[\da-f]{2,6};){5}/i,
  /<!--/,
  /\[\/\/\]: ?#/,
  /(?:display ?: ?none|visibility ?: ?hidden|font-size ?: ?0|opacity ?: ?0(?![.\d]))/i,
  /<\/?(?:system|assistant|user|human|ai|note|prompt|instructions?|context|tool\w*|admin)\b[^>]{0,80}>/i,
  /<\|[^|>]{1,40}\|>|\[\/?(?:INST|SYS)\]|<<\/?SYS>>/i,
  /^[ \t]*(?:#{1,6} *|\**)?(?:system|assistant|assistent|human|developer|ai|ki)(?: prompt| message)?\**:/im,
  /[.!?]\s+(?:assistant|assistent|system):/i,
  /!\[[^\]]{0,80}\]\(/,
]

const instructions =
  'instruct\\w*|prompts?|guidelines|guardrails|rules|directives|system|anweisung\\w*|vorgaben|regeln|instruktion\\w*|systemprompt|consignes|instrucciones|istruzioni|instruções|said|told|learned'
const machine =
  '(?:ai|a\\.i\\.|llm|gpt|chatgpt|chatbot|bot|language model|large language model|assistant|ai assistant|model|classifier|automated system|crm system|agent|ki|k\\.i\\.|sprachmodell|künstliche intelligenz|assistenten?|automatisches system|klassifikator)'

const visibleSigns: readonly RegExp[] = [
  new RegExp(
    `\\b(?:ignor(?:e|ing|iere?n?|ez|a|ar)|disregard|forget|override|bypass|overrule|miss?achte?n?|vergi(?:ss|ß|sst)|vergessen sie|übergehe?n?|olvida|oubliez|dimentica)\\b(?:[^\\p{L}]+[\\p{L}]+){0,6}?[^\\p{L}]+(?:${instructions})\\b`,
    'u',
  ),
  new RegExp(
    `\\b(?:dear|hey|hi|hello|note to|notice to|message to|message for|attention|instructions? (?:to|for)|task for|an|for|liebe[rs]?|hallo|hinweis an|achtung|nachricht an|aufgabe für)[ ,]+(?:the |an |any |a |das |den |die |dem |der ){0,3}${machine}\\b(?! (?:tool|team|system|assistant|software|solution|project|model|based|company|department|startup|lösung|projekt|abteilung))`,
    'u',
  ),
  new RegExp(`\\b(?:if|as|when) (?:you are|you're|an?) (?:an? )?${machine}\\b`, 'u'),
  new RegExp(`\\b(?:wenn|falls|als) (?:du|sie|ein\\w*) (?:ein\\w* )?${machine}\\b`, 'u'),
  new RegExp(
    `\\b(?:you are now|from now on,? you|you are (?:dan|an? (?:sales )?(?:assistant|bot|model))|act as an?|pretend (?:to be|that you|you are)|du bist (?:jetzt|ab jetzt|nun)|tu(?:e|n sie)? so,? als)\\b`,
    'u',
  ),
  new RegExp(`\\b(?:developer|god|admin|jailbreak|dan) mode\\b|\\bas dan\\b|\\bno restrictions\\b`, 'u'),
  new RegExp(
    `\\b(?:system ?prompt|your (?:instructions|prompt|rules|training)|deine anweisungen|ihre anweisungen missachten)\\b`,
    'u',
  ),
  new RegExp(
    `\\b(?:new|real|actual|trusted|following|updated) (?:instructions?|task for|system message|directive)(?: follow\\w*)?[:.]|\\b(?:neue|echte) (?:anweisung(?:en)?|aufgabe):`,
    'u',
  ),
  new RegExp(
    `\\bend of (?:the )?(?:note|input|text|untrusted|document|data|email)|\\bende (?:der|des) (?:notiz|eingabe|textes|nachricht)\\b|(?<!#)#{3,}|"{3}|(?<!-)-{4,} ?end`,
    'u',
  ),
  new RegExp(
    `\\b(?:change_stage|schedule_meeting|add_contact|stop_campaign|create_task|wait_until|opt_out|out_of_office|meeting_request|not_interested|wrong_person|stagekind|dueat|stage_kind|due_at)\\b`,
    'u',
  ),
  new RegExp(`["']?\\b(?:intent|actions?|confidence|evidence|absicht|aktion|konfidenz|priority)\\b["']? ?[:=]`, 'u'),
  new RegExp(
    `\\b(?:set|output|return|mark|classify|the|correct|change|move|setze?|die|ändere?) (?:[^\\s]+ ){0,4}(?:intent|stage|phase|absicht|classification)\\b[^\\s]*(?: [^\\s]*){0,4} ?(?:won|lost|gewonnen|verloren|interested|interesse|opt-out|to)\\b`,
    'u',
  ),
  new RegExp(
    `\\b(?:mark|markiere|classify|klassifiziere) (?:this|the|diesen?|die|das|den)? ?(?:deal|note|lead|contact|notiz|kontakt)? ?(?:as|als)\\b`,
    'u',
  ),
  new RegExp(
    `\\b(?:classifier|the model|the assistant|language model|sprachmodell) (?:must|should|shall|has to|muss|soll)\\b`,
    'u',
  ),
  new RegExp(`\\b(?:decode|dekodiere\\w*|entschlüssle) (?:this|the|it|das|den|dies)\\b`, 'u'),
  new RegExp(
    `\\b(?:summari[sz]e|fasse|list|print|reveal|show|include|append|output)\\b[^.!?\\n]{0,60}\\b(?:other notes|all notes|anderen notizen|system prompt|api key|password|https?:)`,
    'u',
  ),
  new RegExp(
    `\\b(?:all|every|alle|each) (?:contacts?|campaigns?|kontakte?|kampagnen?)\\b[^.!?\\n]{0,40}\\b(?:organi[sz]ation|at|of|dieser|sperren|stoppen|vom|delete|suppress|unsubscribe)|\\b(?:suppress|unsubscribe|delete|block) (?:all|every)\\b(?! (?:of )?(?:my|our|(?:the )?(?:personal )?(?:data|information|records|details) (?:you (?:have|hold|store|keep)|about me|on me|of me|about us)))`,
    'u',
  ),
  new RegExp(`\\b(?:execute|eval|run) [a-z] ?\\+`, 'u'),
  new RegExp(
    `\\bpre-approved\\b|\\b(?:i|we) (?:hereby )?authori[sz]e you\\b|\\ballow you to change\\b|\\berlaube ich (?:dir|ihnen)\\b|\\balle aktionen genehmigt\\b`,
    'u',
  ),
]

const digitLetters: Readonly<Record<string, string>> = {
  '0': 'o',
  '1': 'i',
  '3': 'e',
  '4': 'a',
  '5': 's',
  '7': 't',
  '@': 'a',
  $: 's',
}

/** `1gn0re` becomes `ignore`. */
const plainLetters = (text: string): string =>
  text.replaceAll(/(?<=\p{L})[013457@$]|[013457@$](?=\p{L})/gu, (digit) => digitLetters[digit] ?? digit)

/** `i g n o r e` becomes `ignore`. */
const joinedLetters = (text: string): string =>
  text.replaceAll(/(?<!\p{L})(?:\p{L} ){3,}\p{L}(?!\p{L})/gu, (run) => run.replaceAll(' ', ''))
