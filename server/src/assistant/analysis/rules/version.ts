/** Increase it with every change of the phrases or of how they are used. */
export const rulesVersion = 'rules-4'
