// node-postgres with pg-cursor, and postgres.js.
const pg = require('pg')
const Cursor = require('pg-cursor')
const assert = require('assert')
const { pipeline } = require('stream/promises')
const { Readable, Writable } = require('stream')
const copy = require('pg-copy-streams')
const postgres = require('postgres')

const DSN = process.env.DSN
const checks = []
const check = (name, f) => checks.push([name, f])

async function client(options = {}) {
  const c = new pg.Client({ connectionString: DSN, ...options })
  await c.connect()
  return c
}

async function fails(code, f) {
  try {
    await f()
  } catch (e) {
    assert.strictEqual(e.code, code, e.message)
    return e
  }
  assert.fail('no error ' + code)
}

check('tour', async () => {
  const c = await client()
  await c.query('CREATE TABLE no_orders (id bigint PRIMARY KEY, customer text, amount numeric(10,2), placed timestamptz)')
  await c.query('CREATE TABLE no_stock (item text PRIMARY KEY, n int)')
  let r = await c.query('INSERT INTO no_orders VALUES ($1, $2, $3, $4), (2, $5, 99.99, $6)', [1, 'ann', '12.50', new Date('2024-05-14T10:00:00Z'), 'bob', '2024-05-14 10:05:00+00'])
  assert.deepStrictEqual([r.command, r.rowCount], ['INSERT', 2])
  r = await c.query('UPDATE no_orders SET amount = amount * 2 WHERE customer = $1', ['ann'])
  assert.deepStrictEqual([r.command, r.rowCount], ['UPDATE', 1])
  r = await c.query('SELECT * FROM no_orders ORDER BY id')
  assert.deepStrictEqual(r.rows, [
    { id: '1', customer: 'ann', amount: '25.00', placed: new Date('2024-05-14T10:00:00Z') },
    { id: '2', customer: 'bob', amount: '99.99', placed: new Date('2024-05-14T10:05:00Z') }])
  assert.deepStrictEqual(r.fields.map(f => f.dataTypeID), [20, 25, 1700, 1184])
  await c.query("INSERT INTO no_stock VALUES ('lamp', 10)")
  await c.query('BEGIN')
  await c.query("INSERT INTO no_orders VALUES (3, 'cid', 40, '2024-05-14 11:00:00+00')")
  await c.query('UPDATE no_stock SET n = n - 1 WHERE item = $1', ['lamp'])
  await c.query('COMMIT')
  assert.deepStrictEqual((await c.query('SELECT n FROM no_stock')).rows, [{ n: 9 }])
  await c.query('CHECKPOINT')
  assert.strictEqual((await c.query('ALTER TABLE no_orders COMPACT')).rows.length, 1)
  assert.strictEqual((await c.query('DELETE FROM no_orders WHERE id = 3')).rowCount, 1)
  await c.end()
})

check('values', async () => {
  const c = await client()
  await c.query('CREATE TABLE no_types (id int PRIMARY KEY, bo boolean, si smallint, bi bigint, re real, dp float8, n numeric(38,10), ch char(3), vc varchar(9), by bytea, da date, ti time, ts timestamp, tz timestamptz)')
  const row = [1, true, -32768, '-9223372036854775808', 0.1, 'Infinity', '-9999999999999999999999999999.0000000001', 'é', '✓', Buffer.from([0, 255, 92]), '0044-03-15 BC', '23:59:59.999', '1900-01-01 00:00:00.000001', '1969-12-31 23:59:59.999999+00']
  await c.query('SET TIME ZONE -3')
  await c.query('INSERT INTO no_types VALUES (' + row.map((_, i) => '$' + (i + 1)) + ')', row)
  await c.query('INSERT INTO no_types (id) VALUES ($1)', [2])
  await c.query('SET TIME ZONE UTC')
  for (const ask of [() => c.query({ text: 'SELECT * FROM no_types ORDER BY id', rowMode: 'array', types: { getTypeParser: () => v => v } }),
    () => c.query({ text: 'SELECT * FROM no_types WHERE id >= $1 ORDER BY id', values: [1], rowMode: 'array', types: { getTypeParser: () => v => v } })]) {
    const r = await ask()
    assert.deepStrictEqual(r.rows, [
      ['1', 't', '-32768', '-9223372036854775808', '0.1', 'Infinity', '-9999999999999999999999999999.0000000001', 'é  ', '✓', '\\x00ff5c', '0044-03-15 BC', '23:59:59.999', '1900-01-01 00:00:00.000001', '1969-12-31 23:59:59.999999+00'],
      ['2'].concat(Array(13).fill(null))])
  }
  const arrays = await c.query('SELECT id FROM no_types WHERE id = ANY($1) OR vc = ANY($2) ORDER BY id', [[2, 7], ['✓', 'a"b']])
  assert.deepStrictEqual(arrays.rows, [{ id: 1 }, { id: 2 }])
  assert.deepStrictEqual((await c.query('SELECT ARRAY[1,2] AS a, NULL AS b, $1::json AS j', [{ x: [1] }])).rows, [{ a: [1, 2], b: null, j: { x: [1] } }])
  await c.end()
})

check('prepared', async () => {
  const c = await client()
  for (let i = 0; i < 10; i++) {
    assert.deepStrictEqual((await c.query({ name: 'n', text: 'SELECT n + $1 AS n FROM no_stock WHERE item = $2', values: [i, 'lamp'] })).rows, [{ n: 9 + i }])
  }
  await c.end()
})

check('errors and transactions', async () => {
  const c = await client()
  const e = await fails('42703', () => c.query('SELECT nn FROM no_stock WHERE item = $1', ['x']))
  assert.deepStrictEqual([e.position, e.severity, e.hint], ['8', 'ERROR', 'Perhaps you meant the column "n".'])
  await fails('42601', () => c.query('SELEC 1'))
  await fails('22P02', () => c.query('SELECT n FROM no_stock WHERE n = $1', ['x']))
  await c.query('BEGIN')
  await fails('22012', () => c.query('SELECT 1/0'))
  await fails('25P02', () => c.query('SELECT 1'))
  assert.strictEqual((await c.query('COMMIT')).command, 'ROLLBACK')
  const many = await c.query("SELECT 1 AS a; INSERT INTO no_stock VALUES ('m', 1); SELECT n FROM no_stock WHERE item = 'm'")
  assert.deepStrictEqual(many.map(r => r.command), ['SELECT', 'INSERT', 'SELECT'])
  await fails('22012', () => c.query("INSERT INTO no_stock VALUES ('undone', 1); SELECT 1/0"))
  assert.strictEqual((await c.query("SELECT 1 FROM no_stock WHERE item = 'undone'")).rowCount, 0)
  const empty = await c.query('')
  assert.strictEqual(empty.rowCount, null)
  await c.end()
})

check('pg-cursor', async () => {
  const c = await client()
  const cur = c.query(new Cursor('SELECT g FROM generate_series(1, $1) g ORDER BY g', [2500]))
  let n = 0
  for (;;) {
    const rows = await cur.read(100)
    if (rows.length === 0) break
    n += rows.length
  }
  assert.strictEqual(n, 2500)
  const early = c.query(new Cursor('SELECT g FROM generate_series(1, 100000) g'))
  assert.strictEqual((await early.read(5)).length, 5)
  await early.close()
  assert.deepStrictEqual((await c.query('SELECT 1 AS a')).rows, [{ a: 1 }])
  await c.end()
})

function cancel (c) {
  new pg.Client({ connectionString: DSN }).cancel(c, c.activeQuery || c._activeQuery)
}

check('streaming with pg-cursor', async () => {
  const c = await client(); const w = await client()
  await w.query('CREATE TABLE no_feed (id int PRIMARY KEY, v text)')
  await w.query("INSERT INTO no_feed VALUES (1, 'a')")
  await c.query('SET execution.runtime_mode = streaming')
  const cur = c.query(new Cursor('SELECT id, v FROM no_feed'))
  assert.deepStrictEqual(await cur.read(1), [{ rowkind: '+I', id: 1, v: 'a' }])
  const next = cur.read(2)
  await w.query("UPDATE no_feed SET v = 'b' WHERE id = 1")
  assert.deepStrictEqual(await next, [{ rowkind: '-U', id: 1, v: 'a' }, { rowkind: '+U', id: 1, v: 'b' }])
  const waiting = cur.read(1)
  setTimeout(() => cancel(c), 200)
  await fails('57014', () => waiting)
  await c.query('RESET execution.runtime_mode')
  assert.deepStrictEqual((await c.query('SELECT v FROM no_feed')).rows, [{ v: 'b' }])
  await c.end(); await w.end()
})

check('copy', async () => {
  const c = await client()
  await pipeline(Readable.from(['x1\t1\n', 'x2\t', '\\N\n']), c.query(copy.from('COPY no_stock FROM STDIN')))
  let out = ''
  await pipeline(c.query(copy.to("COPY (SELECT * FROM no_stock WHERE item LIKE 'x%' ORDER BY 1) TO STDOUT WITH CSV HEADER")), new Writable({ write (b, _, done) { out += b; done() } }))
  assert.strictEqual(out, 'item,n\nx1,1\nx2,\n')
  await c.end()
})

check('postgres.js', async () => {
  const sql = postgres(DSN, { max: 2, onnotice: () => {} })
  for (let i = 0; i < 10; i++) {
    const [r] = await sql`SELECT n, ${i}::int + n AS m FROM no_stock WHERE item = ${'lamp'}`
    assert.deepStrictEqual([r.n, r.m], [9, 9 + i])
  }
  const inserted = await sql`INSERT INTO no_orders ${sql([{ id: 10, customer: 'p', amount: '1.10' }, { id: 11, customer: null, amount: '2.20' }], 'id', 'customer', 'amount')}`
  assert.deepStrictEqual([inserted.command, inserted.count], ['INSERT', 2])
  assert.deepStrictEqual([...await sql`SELECT id, amount FROM no_orders WHERE id IN ${sql([10, 11])} ORDER BY id`], [{ id: '10', amount: '1.10' }, { id: '11', amount: '2.20' }])
  assert.deepStrictEqual([...await sql`SELECT id FROM no_orders WHERE id = ANY(${[10, 2]}) ORDER BY id`], [{ id: '2' }, { id: '10' }])
  assert.deepStrictEqual([...await sql`SELECT id FROM no_orders WHERE placed = ${new Date('2024-05-14T10:05:00Z')}`], [{ id: '2' }])
  let n = 0
  await sql`SELECT g FROM generate_series(1, 1000) g`.cursor(100, rows => { n += rows.length })
  assert.strictEqual(n, 1000)
  await fails('22012', () => sql`SELECT 1/0`)
  await fails('23502', () => sql`INSERT INTO no_stock VALUES (NULL, 1)`)
  await sql.begin(async tx => {
    await tx`UPDATE no_stock SET n = n + 1 WHERE item = 'lamp'`
    await fails('22012', () => tx.savepoint(async s => { await s`UPDATE no_stock SET n = 0`; await s`SELECT 1/0` }))
  })
  assert.deepStrictEqual([...await sql`SELECT n FROM no_stock WHERE item = 'lamp'`], [{ n: 10 }])
  await fails('42P01', () => sql.begin(tx => tx`SELECT * FROM nope`))
  const q = sql`SELECT count(*) FROM generate_series(1, 100000) a, generate_series(1, 100000) b, generate_series(1, 100) c`
  setTimeout(() => q.cancel(), 300)
  await fails('57014', () => q)
  await pipeline(Readable.from(['y1\t1\n']), await sql`COPY no_stock FROM STDIN`.writable())
  assert.deepStrictEqual([...await sql`SELECT n FROM no_stock WHERE item = 'y1'`], [{ n: 1 }])
  await sql.end()
})

async function main() {
  let failed = 0
  for (const [name, f] of checks) {
    let timer
    try {
      await Promise.race([f(), new Promise((_, reject) => { timer = setTimeout(() => reject(new Error('hangs')), 60000) })])
      console.log('ok ' + name)
    } catch (e) {
      failed++
      console.log('FAIL ' + name + ' ' + (e.stack || e).replace(/\n/g, '\n    '))
    }
    clearTimeout(timer)
  }
  process.exit(failed ? 1 : 0)
}
main()
