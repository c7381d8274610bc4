// Runs before the first paint, so that a chosen theme does not flash. Without a choice, the system decides.
try {
  const chosen = localStorage.getItem('rapport.theme')
  if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset.theme = chosen
} catch {
  // Storage is blocked: follow the system.
}
