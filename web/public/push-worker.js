// Shows notifications while no page is open. It controls no page and handles no request: its scope has no pages.
self.addEventListener('push', (event) => {
  const { title, body, language, path, tag } = event.data.json()
  const shown = { body, lang: language, tag, data: { path } }
  event.waitUntil(self.registration.showNotification(title, shown))
})

self.addEventListener('notificationclick', (event) => {
  event.notification.close()
  event.waitUntil(openPage(new URL(event.notification.data.path, self.location.origin).href))
})

// A page that shows it already comes to the front. Others stay as they are: something may be typed there.
async function openPage(url) {
  const pages = await self.clients.matchAll({ type: 'window', includeUncontrolled: true })
  const open = pages.find((page) => page.url === url)
  await (open ? open.focus() : self.clients.openWindow(url))
}
