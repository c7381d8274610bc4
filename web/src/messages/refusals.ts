type Translate = (message: string) => string

let translate: Translate = (message) => message

/** Called once, when the first request was refused. */
export function setRefusals(translator: Translate): void {
  translate = translator
}

/** What the service said about a value, in the language of the page; unknown messages stay as they are. */
export const refusalText = (message: string): string => translate(message)
