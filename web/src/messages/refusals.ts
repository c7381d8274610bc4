type Translate = (message: string) => string

let translate: Translate = (message) => message

/** Called once, for the first refused request. */
export function setRefusals(translator: Translate): void {
  translate = translator
}

/** Translates the service's message about a value; unknown messages are returned unchanged. */
export const refusalText = (message: string): string => translate(message)
