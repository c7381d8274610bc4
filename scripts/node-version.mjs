// Imported first by every script that a user may run on a fresh machine. Uses only syntax that an old Node can parse.
const [major, minor] = process.versions.node.split('.').map(Number)
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(`Rapport needs Node 20.19 or newer; this is ${process.versions.node}. See https://nodejs.org`)
  process.exit(3)
}
