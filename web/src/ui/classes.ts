/** Joins class names; omits values that are false or undefined. */
export const classes = (...names: (string | false | undefined)[]): string => names.filter(Boolean).join(' ')
