/**
 * Exits once all output is written: `process.exit` alone drops what the reader of a pipe has not read yet. Does not wait
 * for a reader that has closed the pipe.
 * @param {number} code
 * @returns {Promise<never>}
 */
export async function exit(code) {
  await Promise.all([process.stdout, process.stderr].map(flushed))
  process.exit(code)
}

const flushed = (stream) =>
  new Promise((resolve) => {
    stream.once('error', resolve)
    stream.write('', resolve)
  })
