import type pg from "pg";
import type { StripList } from "../../accept/strip-list.ts";
import { type LogRow, partOf } from "../../apply/backlog.ts";
import { resourceOf } from "../../contract/resource.ts";
import { ERASED, identityOnly } from "../../contract/strip-record.ts";
import { readStatement } from "../../db/statement.ts";
import { withTransaction } from "../../db/transaction.ts";
import { rewritePart } from "../rewrite-part.ts";
import { type ScannedPart, scanPart } from "../scan-log.ts";
import { mentions } from "./words.ts";

const findRejecting = readStatement(new URL("./sql/find-rejecting-parts.sql", import.meta.url));
const writeRejections = readStatement(new URL("./sql/write-rejections.sql", import.meta.url));

const BEFORE_ALL = "00000000-0000-0000-0000-000000000000";
const PARTS_AT_ONCE = 16;

interface Rejection {
  readonly index: number;
  readonly violations: readonly {
    readonly pointer: string;
    readonly code: string;
    readonly message: string;
  }[];
  readonly violationTotal: number;
}

type RejectingRow = Omit<LogRow, "rejections"> & { readonly rejections: Rejection[] };

/** Whether it names a subject, or says what only the subjects' records say. */
function isAbout(
  subjects: StripList,
  { part }: ScannedPart,
  bytes: Buffer,
  words: readonly string[],
): boolean {
  const resource = resourceOf(part.resource);
  const { identity, clientCode = "", propertyCode = "", key = "" } = identityOnly(resource, bytes);
  if (identity.equals(bytes)) return false;
  if (subjects.isSubject({ resource, clientCode, propertyCode, key }, Buffer.from("{}"))) return true;
  // However its texts are escaped.
  return mentions(JSON.stringify(JSON.parse(bytes.toString("utf8"))), words);
}

/** What was told of a record, less all that may quote it. */
function withoutQuotes(rejection: Rejection): Rejection {
  const { index, violations, violationTotal } = rejection;
  const told = violations.map(({ code }) => ({ pointer: `/${index}`, code, message: ERASED }));
  return { index, violations: told, violationTotal };
}

async function redactPart(
  client: pg.ClientBase,
  row: RejectingRow,
  subjects: StripList,
  words: readonly string[],
): Promise<number> {
  const scanned = await scanPart(partOf(row));
  const about = new Map(
    scanned.records
      .filter(({ isRejected, bytes }) => isRejected && isAbout(subjects, scanned, bytes, words))
      .map(({ index, bytes }) => [index, identityOnly(resourceOf(row.resource), bytes).identity]),
  );
  if (about.size === 0) return 0;
  const rejections = row.rejections.map((one) => (about.has(one.index) ? withoutQuotes(one) : one));
  const { bucket, lane_id: laneId, request_id: requestId } = row;
  await withTransaction(client, async () => {
    await rewritePart(client, { bucket, laneId, requestId }, ({ index }) => {
      const bytes = about.get(index);
      return bytes === undefined ? "keep" : { bytes, contentHash: undefined };
    });
    await client.query({
      ...writeRejections,
      values: [bucket, laneId, requestId, JSON.stringify(rejections)],
    });
  });
  return about.size;
}

/**
 * Reduces to their identity the rejected records of lenient batches that are about the subjects. They were never applied, lie in the
 * first part of their batch, whoever's bucket that is, and may hold anything anywhere: so also those that mention one of the words.
 * Answers how many there were.
 */
export async function redactRejected(
  client: pg.ClientBase,
  subjects: StripList,
  words: readonly string[],
): Promise<number> {
  let redacted = 0;
  for (let after = BEFORE_ALL; ; ) {
    const { rows } = await client.query<RejectingRow>({ ...findRejecting, values: [after, PARTS_AT_ONCE] });
    for (const row of rows) redacted += await redactPart(client, row, subjects, words);
    const last = rows.at(-1);
    if (last === undefined || rows.length < PARTS_AT_ONCE) return redacted;
    after = last.request_id;
  }
}
