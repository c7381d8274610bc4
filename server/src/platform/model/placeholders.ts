const splitItems = (text: string): string[] => text.split(',').map((item) => item.trim())

/** What programs write for a missing value. */
const machineWords: ReadonlySet<string> = new Set(
  splitItems(
    'undefined, null, nil, nan, nullptr, dbnull, system.object, object object, #ref!, #value!, #name?, #null!, #n/a, \\n',
  ),
)

/** What people and forms write instead of a value, without accents. */
const words: ReadonlySet<string> = new Set(
  splitItems(
    [
      'n/a, n/a., n.a., n.a, na, none, unknown, unspecified, not available, not applicable, not provided',
      'not specified, not set, not given, nothing, empty, blank, missing, unset, tbd, tba, t.b.d., anonymous, guest',
      'true, false, no value, no data, not known, unavailable, no id, no name',
      'k.a., k. a., k/a, keine, keiner, keines, kein, keine angabe, keine angaben, n.v., n. v., n/v, nicht vorhanden',
      'nicht verfugbar, nicht angegeben, nicht bekannt, nicht zutreffend, unbekannt, ohne, ohne angabe, entfallt, leer, o.a.',
      'neant, aucun, aucune, inconnu, inconnue, non renseigne, non defini, indefini, non disponible, non applicable',
      'sans objet, s/o, s.o., n.c., n/c, n.d., n/d, n.r., vide, rien',
      'ninguno, ninguna, desconocido, desconocida, no disponible, no aplica, no definido, no especificado, sin datos',
      's/d, s.d., nulo, vacio, nenhum, nenhuma, desconhecido, desconhecida, nao disponivel, nao informado, nao se aplica',
      'vazio, s/i, nessuno, nessuna, sconosciuto, sconosciuta, non applicabile, non specificato, vuoto, nullo',
      'geen, onbekend, n.v.t., nvt, niet van toepassing, niet beschikbaar, leeg, n.b., n.n.b.',
      'ingen, inget, okand, ukendt, ukjent, saknas, mangler, ei ole, tuntematon, puuttuu',
      'brak, nieznany, nieznana, nieznane, nie dotyczy, brak danych, b/d, b.d., zadny, neznamy, neuvedeno, nezname',
      'nincs, ismeretlen, necunoscut, niciunul, yok, bilinmiyor, belirtilmemis, nema, nepoznato',
      'нет, неизвестно, не указано, не указан, нет данных, н/д, немає, невідомо, не вказано, няма, неизвестен',
      'αγνωστο, κανενα, κανενας, δ/υ, 无, 無, 没有, 沒有, 未知, 不详, 不詳, 暂无, 暫無, 空, 未提供, なし, 無し, 不明, 未設定, 該当なし',
      '없음, 알 수 없음, 알수없음, 미상, 해당 없음, 해당없음, لا يوجد, غير معروف, غير متوفر, غير متاح, אין, לא ידוע, לא זמין, अज्ञात, कोई नहीं, ไม่มี, ไม่ทราบ, khong co, khong ro, tidak ada, tidak diketahui',
    ].join(', '),
  ).map(withoutMarks),
)

/** A variable of a template that was not filled in: `{{contact.id}}`, `${id}`, `%ID%`, `*|EMAIL|*`, `<id>`, `[ID]`. */
const templates: readonly RegExp[] = [
  /\{\{[^{}]*\}\}/,
  /[$#@]\{[^{}]*\}/,
  /\*\|[^|]*\|\*/,
  /<%.*%>/s,
  /^\{[!%#$][^{}]*\}$/,
  // Not a GUID.
  /^\{(?![0-9a-f]{8}-)(?![0-9a-f]{32}\})[a-z_][\w .:-]*\}$/,
  /^%%?[a-z_][\w .:-]*%%?$/,
  /^%\([a-z_]\w*\)[sd]$/,
  /^<[a-z_ .-]+>$/,
  /^\[\[?[a-z_ .-]+\]\]?$/,
]
const isTemplate = (key: string): boolean => templates.some((template) => template.test(key))

/** Does the text stand for a missing value, so that it identifies nothing? Case, accents and quotes are ignored. */
export function isPlaceholder(text: string): boolean {
  const key = keyOf(text)
  const bare = unwrapped(key)
  return (
    !/[\p{L}\p{N}\p{So}]/u.test(key) ||
    isTemplate(key) ||
    [key, bare].some((one) => machineWords.has(one) || words.has(one)) ||
    partsOf(bare).every((part) => machineWords.has(part)) ||
    zeros.some((zero) => zero.test(key))
  )
}

/** `0`, `-1`, `0000`, `0.0`, the nil UUID and the max UUID. */
const zeros: readonly RegExp[] = [/^-1$/, /^[-+{]?0[0.,-]*\}?$/, /^\{?f{8}-(?:f{4}-){3}f{12}\}?$/]

/** Is the name one that only a program writes, such as `undefined undefined`? People are called Nil, Nan and Null. */
export function isUnfilledName(text: string): boolean {
  const key = keyOf(text)
  const parts = partsOf(unwrapped(key))
  const isProgram = parts.every((part) => part === 'undefined' || (part === 'null' && parts.length > 1))
  return /^[\p{P}\s]*$/u.test(key) || isTemplate(key) || isProgram || unwrapped(key) === 'object object'
}

/** A phone number whose digits after the country code are all equal, such as `+10000000000`. */
export const isPlaceholderPhone = (number: string): boolean => /^\+?\d{0,3}?(\d)\1{6,}$/.test(number)

/** An address whose two parts are the same placeholder, such as `none@none.com`. */
export function isPlaceholderAddress(address: string): boolean {
  const [name = '', host = ''] = keyOf(address).split('@')
  return host.split('.', 1)[0] === name && (machineWords.has(name) || words.has(name))
}

/** `undefined undefined` and `null-null` are made of several values. */
const partsOf = (key: string): string[] => key.split(/[\s_/|,;:.-]+/)

/** `(none)`, `<null>` and `[object Object]` without their brackets. */
const unwrapped = (key: string): string => key.replace(/^[([{<]+(.*?)[)\]}>]+$/s, '$1').trim()

/** Quotes of any kind, spaces and invisible characters around the text are not part of it. */
function keyOf(text: string): string {
  const visible = text.replace(/[\p{Cf}\p{Cc}\u115f\u1160\u3164\u2800]+/gu, ' ')
  const bare = visible.trim().replace(/^["'`´‘’‚“”„«»‹›]+|["'`´‘’‚“”„«»‹›]+$/gu, '')
  return withoutMarks(bare.normalize('NFKC').toLowerCase()).replace(/\s+/g, ' ').trim()
}

function withoutMarks(text: string): string {
  return text
    .normalize('NFD')
    .replace(/\p{M}+/gu, '')
    .normalize('NFC')
}
