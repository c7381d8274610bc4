// What the words around a date say about it.

/** Words in front of a day that exclude it. "Not before Monday" does not exclude it. */
const excludesNext = new RegExp(
  String.raw`(?<!\p{L})(?:except|excluding|exclude|apart from|other than|besides|but not|not|never|nor|anything but|(?:any|every)(?: \p{L}+){1,2} but|instead of|rather than|avoid|avoiding|skip|can't do|cannot do|can't make|can't make it|cannot make|can't|außer|ausser|ausgenommen|nicht|nie|niemals|statt|anstatt|anstelle|anstelle von|bis auf|no|kein(?:e[nrm]?)?|weder|noch nicht|cancel(?:led)?|(?:moved|move|postponed?|rescheduled?|shifted) (?:it |this |the (?:call|meeting|demo) |our (?:call|meeting|demo) )?(?:away )?from|verschoben vom?|weg von)(?: (?:for|on|at|um|am|the|this|next|in|den|dem|der|diese[nm]?|nächste[nm]?|kommende[nm]?|von|vom|possible|möglich|gut|gegen|in der|early|late|right|wieder))*? *$`,
  'u',
)
const tooLate =
  /(?:can't|cannot|can not|nicht|not|nie|never) (?:be (?:there|available) )?(?:before|until|till|vor|bis|erst|later than|später als) *$/

/** Words behind a day that exclude it. */
const excludesPrevious = new RegExp(
  String.raw`^(?:'s \p{L}+)?(?: (?:morning|afternoon|evening|at \d+(?:pm|am)?|um \d+ uhr|early|früh|nachmittag|vormittag|leider|unfortunately|sadly|already|schon|bereits))*,? (?:(?:is|are|was|wäre|ist|does|do|will|would|geht|passt|klappt|kann|funktioniert|bin|sind|habe|haben|hab) (?:ich |wir |es |bei mir |bei uns |mir |uns |leider |unfortunately |just |sadly |really |auch |das |überhaupt |gar |schon |already |bereits |ganz |zu )*(?:not|nicht|no good|out|bad|impossible|unmöglich|kein(?:e)? (?:zeit|option)|schlecht|ungünstig|ein feiertag|a (?:public |bank |national |regional )?holiday|feiertag|booked|full|busy|blocked|verplant|belegt|weg|unterwegs|voll|zu spät|spät|früh|too late|too early|off limits)|isn't|isnt|aren't|doesn't|doesnt|don't|won't|wouldn't|can't|cannot|scheidet aus|fällt (?:leider )?(?:aus|flach|weg)|(?:i'm|i am|we're|we are) (?:not|away|out|off|busy|booked|travel\p{L}*))(?!\p{L})`,
  'u',
)

/** A colleague or a contact is not there on this day: no day for a meeting, but the day after ends an absence. */
const absentOn =
  /(?<!\p{L})(?:not (?:available|in|there|working|reachable)|unavailable|busy|closed|booked|off|away|out|out of office|absent|nicht (?:da|erreichbar|im büro|verfügbar)|abwesend|verplant|unterwegs|geschlossen)(?: (?:all day|for|on|at|the|this|next|am|den|in|ganzen tag))*? *$/u

/** The author says that it is not this day, given the words before and after it. */
export const isExcluded = (before: string, after: string): boolean =>
  (excludesNext.test(before) && !tooLate.test(before)) || excludesPrevious.test(after)

export const isAbsent = (before: string): boolean => absentOn.test(before)

/** Between two days of a list: "except Monday and Tuesday". */
export const joinsList =
  /^ *(?:,|and|or|und|oder|nor|noch|&|\/|, ?(?:and|or|und|oder))(?: (?:on|am|the|den|not|nicht))* *$/

const pastVerbs =
  'met|spoke|talked|called|phoned|rang|emailed|mailed|wrote|sent|received|got|had|was|were|did|visited|saw|signed|discussed|left|told|tried|ordered|bought|arrived|went|came|started|joined|presented|showed|attended|missed|reached|heard|replied|answered|expired|ended|took|gave|held|lost|won|paid|chatted|caught up|connected|contacted|delivered|shipped|happened|launched|bumped|sat down|demoed|subscribed|registered|submitted|uploaded|published|released'
const later =
  /(?<!\p{L})(?:would|will|could|should|can|may|might|must|whether|if|wants?|needs?|until|till|by|before|after|scheduled|booked|planned|due|please|for|to (?:call|phone|ring|meet|send|get|come|go|do|be|have|talk|speak|discuss|follow|check|try|review|sign|decide|schedule|reschedule|deliver|email|mail|write|start|finish|move|postpone|visit|reply|respond|answer|see|catch|circle|touch|reach|hear|contact|make|prepare|present|join|order|give|let|confirm|install|pay|return|resume))(?!\p{L})/u
const pastBefore = new RegExp(String.raw`(?<!\p{L})(?:${pastVerbs})(?!\p{L})(.*)$`, 'u')
const pastAfter = new RegExp(
  String.raw`^(?:'s \p{L}+)?(?: (?:morning|afternoon|evening))?,? (?:(?:i|we|he|she|they|you|it|mr\.? \p{L}+|mrs\.? \p{L}+|ms\.? \p{L}+|the \p{L}+) )?(?:already |just |also |finally )?(?:${pastVerbs})(?!\p{L})(?! (?:like|a good time|fine|ok))`,
  'u',
)
const thanks =
  /(?<!\p{L})(?:thanks|thank you|thx|danke|dank|vielen dank|bedanke mich) (?:\p{L}+ )*?(?:for|für) (?:\p{L}+ )*$/u
const sentOn =
  /(?<!\p{L})(?:e?-?mails?|letter|message|note|call|meeting|quote|quotation|offer|proposal|invoice|visit|angebot|angebots|schreiben|nachricht|anruf|telefonat|gespräch|rechnung|besuch|treffen|anfrage|notiz|fax|dated|datiert)s? (?:of|from|vom|von|dated) (?:last |the )?$/u

const germanPast =
  /(?<!\p{L})(?:war|waren|warst|wart|sprach|sprachen|traf|trafen|rief|riefen|schrieb|schrieben|telefonierte|telefonierten|kam|kamen|ging|gingen|bekam|bekamen|erhielt|erhielten|besprach|schickte|schickten|fand|fanden|besuchte|besuchten|hatte|hatten|stellte|unterschrieb)(?!\p{L})/u
const germanAuxiliary = /(?<!\p{L})(?:habe|haben|hat|hab|habt|hast|wurde|wurden|bin|sind|ist)(?!\p{L})/u
const participle =
  /(?<!\p{L})(?!(?:gebeten|geplant|gewünscht|genug|gegen|gerne?|gestern|geschlossen|geöffnet|gesamten|gut|geschäft\p{L}*|gleichen?|ganzen|geehrt\p{L}*|gebucht|gesetzt|gelegt|angesetzt|gespannt|geeignet|verplant|vereinbart|verschoben)(?!\p{L}))(?:\p{L}{0,8}ge\p{L}{2,12}(?:t|en)|\p{L}{3,}iert|erhalten|bekommen|besprochen|verschickt|versendet|versucht|erreicht|besucht|verpasst|vorgestellt|unterschrieben|unterhalten|bestellt|bezahlt|begonnen|vorbeigekommen)(?!\p{L})/u
const germanLater =
  /(?<!\p{L})(?:möcht\p{L}*|will|wollen|würd\p{L}*|soll\p{L}*|bitte|kann|können|könn\p{L}*|muss|müssen|wird|werden|dass|ob|zu|\p{L}{2,}zu\p{L}{3,}en|wieder|erst)(?!\p{L})/u

const boundary = /[.,;:!?()"]| (?:and|but|so|then|because|und|aber|dann|weil|denn|sondern) /gu
/** "By Monday" and "until Monday" are not over. */
const untilWords =
  /(?<!\p{L})(?:until|till|by|from|before|after|next|bis|ab|vor|nach|nächste[nrms]?|kommende[nrms]?)(?: (?:the|zum|dem|den|on|am))? *$/u

/** The sentence reports what happened on the day, or names the date of a letter. */
export function isPast(before: string, after: string): boolean {
  if (sentOn.test(before) || thanks.test(before)) return true
  if (untilWords.test(before)) return false
  const starts = [...before.matchAll(boundary)].map(({ index, 0: found }) => index + found.length)
  const clause = before.slice(starts.at(-1) ?? 0)
  const rest = after.slice(0, [...after.matchAll(boundary)].find(({ index }) => index > 0)?.index ?? after.length)
  const verb = pastBefore.exec(clause)
  if (verb) return !later.test(verb[1] ?? '')
  if (pastAfter.test(after.startsWith(',') ? after : rest) && !later.test(rest)) return !/\?\s*$/.test(after)
  const whole = `${clause} ${rest}`
  if (germanLater.test(whole)) return false
  return germanPast.test(whole) || (germanAuxiliary.test(whole) && participle.test(whole))
}
