import { expect, test } from 'vitest'
import { prepareContact } from './prepare.ts'

const empty = { email: null, phone: null, name: null, firstName: null, lastName: null }
const created = (name: string) => prepareContact({ ...empty, name }, undefined).values
const corrected = (firstName: string | null, lastName: string | null, name: string) => {
  const joined = [firstName, lastName].filter((part) => part !== null).join(' ')
  return prepareContact({ name }, { ...empty, firstName, lastName, name: joined }).values
}

test.each([
  ['Ada Lovelace', 'Ada', 'Lovelace'],
  ['山田\u3000太郎', '山田', '太郎'],
  ['Anna\u00a0Berg', 'Anna', 'Berg'],
  ['Anna\u2009Maria\u2003Berg', 'Anna\u2009Maria', 'Berg'],
  ['山田太郎', '山田太郎', null],
  ['Madonna', 'Madonna', null],
])('%s is split into %s and %s', (name, firstName, lastName) => {
  expect(created(name)).toMatchObject({ firstName, lastName })
})

test.each([
  ['johannes', 'van den bosch', 'Johannes van den Bosch', 'Johannes', 'van den Bosch'],
  ['Johannes', 'van den Bosch', 'Johannes Maria van den Bosch', 'Johannes Maria', 'van den Bosch'],
  ['Jose', 'Garcia Lopez', 'José García López', 'José', 'García López'],
  ['Ana Maria', 'Silva', 'Ana Maria Silva Santos', 'Ana Maria', 'Silva Santos'],
  ['Martin', 'King', 'Martin King Jr.', 'Martin', 'King Jr.'],
  ['Mary', "O'Brien", 'Mary O’Brien', 'Mary', 'O’Brien'],
  ['Zoe', 'de la Cruz', 'Zoe\u00a0de\u00a0la\u00a0Cruz', 'Zoe', 'de\u00a0la\u00a0Cruz'],
  ['山田', '太郎', '山田\u3000太郎', '山田', '太郎'],
])('%s | %s, corrected to %s, keeps its boundary', (first, last, name, firstName, lastName) => {
  expect(corrected(first, last, name)).toMatchObject({ firstName, lastName })
})

test.each([
  ['Johannes', 'van den Bosch', 'Peter Smith', 'Peter', 'Smith'],
  ['Johannes', 'van den Bosch', 'Johannes', 'Johannes', null],
  ['Johannes', 'Bosch', 'Bosch', 'Bosch', null],
  [null, 'Bosch', 'Anna Bosch', 'Anna', 'Bosch'],
  ['Anna', null, 'Anna Maria Berg', 'Anna Maria', 'Berg'],
])('%s | %s, replaced by %s, is split at the last space', (first, last, name, firstName, lastName) => {
  expect(corrected(first, last, name)).toMatchObject({ firstName, lastName })
})
