import { oneBucketOf } from "../distribution.ts";
import { namedStatement } from "../statement.ts";
import type { Queryable } from "../transaction.ts";

/** A row of `bellhop.request_outcome`: a part's outcomes, and the place of its details among those of all parts. */
export interface OutcomeRow {
  readonly bucket: number;
  readonly request_id: string;
  readonly client_id: string | undefined;
  readonly outcomes: string;
  readonly details_from: number | undefined;
  readonly details_bytes: number | undefined;
}

/** Which of the clients $1 want to hear of applied requests (as write-outcomes). */
const findListeners = namedStatement(
  "find-listeners",
  `select client.client_id
  from bellhop.client as client
  where client.client_id = any ($1::text[]) and (
    client.reply_to_origins <> '{}'
    or exists (
      select from bellhop.webhook_endpoint as endpoint
      where endpoint.client_id = client.client_id and 'request.applied' = any (endpoint.events)
    )
  )`,
);

// Each is made from the bucket's own row ($2), so that Citus hands it whole to the worker.
const writeOutcomes = namedStatement(
  "write-outcomes-of-bucket",
  `insert into bellhop.request_outcome (bucket, request_id, applied_at, outcomes, details)
  select home.bucket, part.request_id, statement_timestamp(), part.outcomes,
    convert_from(substring($3::bytea from part.details_from for part.details_bytes), 'UTF8')::json
  from bellhop.bucket_lease as home
  cross join json_to_recordset($1::json) as part (request_id uuid, outcomes text, details_from integer, details_bytes integer)
  where home.bucket = $2`,
);
const writeAppliedParts = namedStatement(
  "write-applied-parts",
  `insert into bellhop.applied_part (bucket, request_id, client_id)
  select home.bucket, part.request_id, part.client_id
  from bellhop.bucket_lease as home
  cross join json_to_recordset($1::json) as part (request_id uuid, client_id text)
  where home.bucket = $2`,
);
const writeArrivals = namedStatement(
  "write-arrivals",
  `insert into bellhop.feed_arrival (first_request_id, last_request_id, property_id, batches, applied, unchanged, stale,
    duplicate, quarantined, rejected, warned, bucket, resource)
  select sent.first_request_id, sent.last_request_id, sent.property_id, sent.batches, sent.applied, sent.unchanged,
    sent.stale, sent.duplicate, sent.quarantined, sent.rejected, sent.warned, home.bucket, sent.resource
  from bellhop.bucket_lease as home
  cross join json_to_recordset($1::json) as sent (first_request_id uuid, last_request_id uuid, property_id integer,
    batches integer, applied integer, unchanged integer, stale integer, duplicate integer, quarantined integer,
    rejected integer, warned integer, resource "char")
  where home.bucket = $2`,
);

/** As write-outcomes, in three statements: who listens is known to the coordinator, the rest lies on a worker. */
export async function writeOutcomesOfBucket(
  client: Queryable,
  parts: readonly OutcomeRow[],
  arrivals: readonly { readonly bucket: number }[],
  details: Buffer,
): Promise<void> {
  await client.query({ ...writeOutcomes, values: [JSON.stringify(parts), oneBucketOf(parts), details] });
  const clientIds = [...new Set(parts.flatMap(({ client_id }) => client_id ?? []))];
  const { rows } = await client.query<{ client_id: string }>({ ...findListeners, values: [clientIds] });
  const listeners = new Set(rows.map(({ client_id }) => client_id));
  const noted = parts.filter(({ client_id }) => client_id !== undefined && listeners.has(client_id));
  if (noted.length > 0)
    await client.query({ ...writeAppliedParts, values: [JSON.stringify(noted), oneBucketOf(noted)] });
  if (arrivals.length > 0)
    await client.query({ ...writeArrivals, values: [JSON.stringify(arrivals), oneBucketOf(arrivals)] });
}
