import { zstdDecompressSync } from "node:zlib";
import type { Pool } from "pg";
import { decryptChunk, partKeyOf, payloadKeyIdOf } from "../../src/ingest/log/encrypt-body.ts";
import type { FindPayloadKey } from "../../src/ingest/log/open-layout.ts";

interface LogRow {
  readonly request_id: string;
  readonly bucket: number;
  readonly layout: Buffer;
  readonly body: Buffer;
}

/** The bytes of a stored body, chunk by chunk; read without a line of the service's own, but for what decrypts. */
async function* chunksOf(row: LogRow, findKey: FindPayloadKey | undefined): AsyncGenerator<Buffer> {
  const { layout, body } = row;
  const word = (at: number) => layout.readUInt32LE(at * 4);
  const keyId = payloadKeyIdOf(layout);
  const key = keyId && (await findKey?.(keyId));
  if (keyId !== undefined && !key) throw new Error("An encrypted part cannot be searched without its key.");
  const partKey = key && partKeyOf(key, { bucket: row.bucket, requestId: row.request_id }, layout);
  let from = 0;
  for (let chunk = 0; chunk < word(0); chunk += 1) {
    const [stored, inflated] = [word(2 + chunk * 3), word(3 + chunk * 3)];
    const raw = body.subarray(from, from + stored);
    const bytes = partKey ? decryptChunk(partKey, chunk, raw) : raw;
    yield bytes.length === inflated ? bytes : zstdDecompressSync(bytes);
    from += stored;
  }
}

/** Every table of the database that is not PostgreSQL's own, and what PostgreSQL keeps of the values in them. */
const TABLES = `
  select format('%I.%I', nspname, relname) as name
  from pg_class join pg_namespace as schema on schema.oid = relnamespace
  where relkind = 'r' and nspname not in ('pg_catalog', 'information_schema', 'pg_toast')
  union all values ('pg_catalog.pg_stats')
  order by 1`;

/**
 * Searches for texts, ignoring case, in every row of every table (bytes in hexadecimal) and every chunk of the log,
 * decrypted with the keys of `findKey`. Returns `table: row (text)` for each match.
 */
export async function searchEverywhere(
  pool: Pool,
  wanted: string | readonly string[],
  findKey?: FindPayloadKey,
): Promise<string[]> {
  const found: string[] = [];
  const spellingsOf = [wanted].flat().map((word) => {
    const escaped = JSON.stringify(word).slice(1, -1).toLowerCase();
    return [word, [...new Set([word.toLowerCase(), escaped, Buffer.from(word).toString("hex")])]] as const;
  });
  const wordsIn = (text: string) => {
    const read = text.toLowerCase();
    return spellingsOf.flatMap(([word, spellings]) =>
      spellings.some((spelling) => read.includes(spelling)) ? [word] : [],
    );
  };
  for (const { name } of (await pool.query<{ name: string }>(TABLES)).rows) {
    const { rows } = await pool.query<{ text: string }>(`select entry::text as text from ${name} as entry`);
    for (const { text } of rows)
      for (const word of wordsIn(text)) found.push(`${name}: ${text.slice(0, 200)} (${word})`);
  }
  for (const row of await statisticsOfWorkers(pool))
    for (const word of wordsIn(row)) found.push(`pg_stats of a worker: ${row.slice(0, 200)} (${word})`);
  const log = await pool.query<LogRow>(
    "select request_id, bucket, layout, body from bellhop.accept_log where body is not null",
  );
  for (const row of log.rows)
    for await (const chunk of chunksOf(row, findKey))
      for (const word of wordsIn(`${chunk.toString("utf8")}\n${JSON.stringify(readable(chunk))}`))
        found.push(`inflated: ${row.request_id}/${row.bucket} (${word})`);
  return found;
}

/** On Citus the tables have their rows, and what is kept of the values in them, on the workers. */
async function statisticsOfWorkers(pool: Pool): Promise<string[]> {
  const citus = await pool.query("select 1 from pg_extension where extname = 'citus'");
  if (citus.rowCount === 0) return [];
  const { rows } = await pool.query<{ result: string }>(
    `select result from run_command_on_workers(
      $$select coalesce(string_agg(kept::text, chr(1)), '') from pg_catalog.pg_stats as kept$$
    )`,
  );
  return rows.flatMap(({ result }) => result.split("\u0001"));
}

/** With escapes such as \\u00fc read, which may spell any text. */
function readable(chunk: Buffer): string {
  return chunk
    .toString("utf8")
    .replaceAll(/\\u([0-9a-fA-F]{4})/g, (_, digits: string) =>
      String.fromCharCode(Number.parseInt(digits, 16)),
    );
}
