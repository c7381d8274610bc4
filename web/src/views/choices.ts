import { useMessages } from 'use-intl'

/** A choice's label: translated if the catalogue has it, otherwise `c_suite` becomes `C suite`. */
export function useChoiceLabel(): (choice: string, property?: ChoiceProperty) => string {
  const { choices } = useMessages()
  const known = choices as Readonly<Record<string, string>>
  return (choice, property) =>
    property?.choiceLabels ? (property.choiceLabels[choice] ?? choice) : (known[choice] ?? sentenceCase(choice))
}

interface ChoiceProperty {
  /** The organization's labels, which are not translated. */
  choiceLabels: Readonly<Record<string, string>> | undefined
}

function sentenceCase(choice: string): string {
  const words = choice.toLowerCase().replaceAll(/[_-]/g, ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}
