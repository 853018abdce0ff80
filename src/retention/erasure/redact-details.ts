import type pg from "pg";
import { ERASED } from "../../contract/strip-record.ts";
import { readStatement } from "../../db/statement.ts";
import type { Hit } from "./find-hits.ts";
import { mentions } from "./words.ts";

const readDetails = readStatement(new URL("./sql/read-details.sql", import.meta.url));
const readCorrelationIds = readStatement(new URL("./sql/read-correlation-ids.sql", import.meta.url));
const eraseCorrelationId = readStatement(new URL("./sql/erase-correlation-id.sql", import.meta.url));
const writeDetails = readStatement(new URL("./sql/write-details.sql", import.meta.url));

interface DetailsRow {
  readonly request_id: string;
  readonly details: Readonly<Record<string, unknown>>;
}

/** The same JSON with every text replaced that mentions a word. */
function withoutWords(value: unknown, words: readonly string[]): unknown {
  if (typeof value === "string") return mentions(value, words) ? ERASED : value;
  if (Array.isArray(value)) return value.map((item) => withoutWords(item, words));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, of]) => [name, withoutWords(of, words)]));
}

/**
 * Takes words out of what was told of the redacted records: codes and how many there are stay. Answers of how many parts there
 * was something to take out; nearly always none, as messages do not quote free text.
 */
export async function redactDetails(
  client: pg.ClientBase,
  hits: readonly Hit[],
  words: readonly string[],
): Promise<number> {
  const [first] = hits;
  if (first === undefined || words.length === 0) return 0;
  const byRequest = Map.groupBy(hits, ({ part }) => part.requestId);
  const { bucket } = first.part;
  const { rows } = await client.query<DetailsRow>({
    ...readDetails,
    values: [bucket, [...byRequest.keys()]],
  });
  let changed = 0;
  for (const { request_id, details } of rows) {
    const redacted: Record<string, unknown> = { ...details };
    for (const { index } of byRequest.get(request_id) ?? []) {
      if (redacted[index] !== undefined) redacted[index] = withoutWords(redacted[index], words);
    }
    if (JSON.stringify(redacted) === JSON.stringify(details)) continue;
    changed += 1;
    await client.query({ ...writeDetails, values: [bucket, request_id, JSON.stringify(redacted)] });
  }
  return changed;
}

/** Takes out the correlation ids of the batches that the records came in, where they mention a word; answers of how many batches. */
export async function redactCorrelationIds(
  client: pg.ClientBase,
  hits: readonly Hit[],
  words: readonly string[],
): Promise<number> {
  const requestIds = [...new Set(hits.map(({ part }) => part.requestId))];
  const { rows } = await client.query<{ request_id: string; correlation_id: string }>({
    ...readCorrelationIds,
    values: [requestIds],
  });
  const mentioning = rows.filter((row) => mentions(row.correlation_id, words));
  for (const { request_id: requestId } of mentioning)
    await client.query({ ...eraseCorrelationId, values: [requestId, ERASED] });
  return mentioning.length;
}
