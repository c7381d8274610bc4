import { Writable } from 'node:stream'
import pg from 'pg'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { databaseUrlOf, run } from '../../test/command-line.ts'
import { query } from '../../test/data-directory.ts'
import { isDistributed } from '../../test/engines.ts'
import { createDatabase } from '../../test/postgres.ts'
import { Database } from '../platform/database/database.ts'
import { ProblemLog } from '../platform/database/problem-log.ts'
import { sql } from '../platform/model/sql.ts'

import { newHome, parseLines, problemsIn } from '../../test/problems.ts'

test.skipIf(isDistributed())(
  'no connection left is called that by the log, once, and by the doctor',
  async (context) => {
    const database = await createDatabase()
    const role = `limited_${database.connection.database}`
    await query(
      database.connection,
      `create role ${role} login connection limit 1; grant all on schema public to ${role}`,
    )
    const connection = { ...database.connection, user: role }
    const holder = new pg.Client(connection)
    await holder.connect()
    const limited = new Database({ connection, size: 2 })
    context.onTestFinished(async () => {
      await limited.close()
      await holder.end()
      await query(database.connection, `drop owned by ${role}; drop role ${role}`)
      await database.drop()
    })
    const logged: string[] = []
    const log = pino(new Writable({ write: (chunk, _encoding, done) => done(void logged.push(String(chunk))) }))
    const problems = new ProblemLog(log)
    limited.reportFailures((error) => problems.reportError(error))
    for (let count = 0; count < 3; count++) {
      await expect(limited.crossTenantQuery('check the database', sql`select 1`)).rejects.toThrow('overloaded')
    }
    expect(problemsIn(parseLines(logged.join('')), 'connections')).toEqual([
      expect.objectContaining({
        msg: 'PostgreSQL has no connection left.',
        remedy: expect.stringContaining('max_connections'),
      }),
    ])
    const examined = await run(['doctor'], {
      environment: { DATABASE_URL: databaseUrlOf({ connection }), DATA_DIR: await newHome(context) },
    })
    expect(examined.output).toMatch(
      /^WRONG {2}database: cannot be reached: too many connections for role .*\. PostgreSQL has no connection left\.\n {7}→ Increase max_connections/m,
    )
  },
)
