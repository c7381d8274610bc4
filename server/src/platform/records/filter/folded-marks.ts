/** What folding removes (migration 0250): accents, the marks of Arabic and Hebrew, and what nobody sees. */
const marks =
  // eslint-disable-next-line no-misleading-character-class -- single marks, not sequences
  /[\u00ad\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u061c\u0640\u064b-\u0652\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u200b\u200c\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufe00-\ufe0f\ufeff]/g

export const withoutFoldedMarks = (text: string): string => text.normalize('NFKD').replace(marks, '').normalize('NFC')
