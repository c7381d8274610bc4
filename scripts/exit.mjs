/**
 * Ends the process once everything it has printed is written: `process.exit` alone drops what the reader of a pipe has not
 * taken yet. A reader that is gone is not waited for.
 * @param {number} code
 * @returns {Promise<never>}
 */
export async function exit(code) {
  await Promise.all([process.stdout, process.stderr].map(written))
  process.exit(code)
}

const written = (stream) =>
  new Promise((resolve) => {
    stream.once('error', resolve)
    stream.write('', resolve)
  })
