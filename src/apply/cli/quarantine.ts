import type pg from "pg";
import type { ResourceLetter } from "#contract/resource.ts";
import { count, type Noun, parsed, required, text, type Verb, verb, withDefault } from "../../cli/command.ts";
import { type Columns, itemTable } from "../../cli/output.ts";
import { recordAudit } from "../../identity/audit.ts";
import { AcceptLog } from "../../ingest/log/accept-log.ts";
import { UsageError } from "../../platform/errors/operator-error.ts";
import { countText } from "../../platform/runtime/amounts.ts";

/** A quarantined record, as an operator sees it. */
interface QuarantineEntry {
  readonly requestId: string;
  readonly index: number;
  readonly clientCode: string | null;
  readonly propertyCode: string | null;
  readonly bucket: number;
  readonly resourceLetter: ResourceLetter;
  readonly resource: string;
  readonly key: string;
  readonly code: string;
  readonly message: string;
}

/** The records quarantined now, the oldest first: of a property, a request or one record of it, where these are given. */
export async function listQuarantined(
  pool: pg.Pool,
  of: {
    readonly client?: string | undefined;
    readonly property?: string | undefined;
    readonly requestId?: string;
    readonly index?: number | undefined;
  },
  limit: number | null = null,
): Promise<QuarantineEntry[]> {
  const { rows } = await pool.query<QuarantineEntry>(
    `select quarantine.request_id as "requestId", quarantine.record_index as "index", property.client_code as "clientCode",
      property.property_code as "propertyCode", quarantine.bucket, quarantine.resource as "resourceLetter",
      case quarantine.resource when 'i' then 'inventories' when 'r' then 'reservations' else 'groups' end as resource,
      quarantine.key, quarantine.code, quarantine.message
    from bellhop.quarantine left join bellhop.property using (property_id)
    where quarantine.state = 'q' and ($1::text is null or property.client_code = $1)
      and ($2::text is null or property.property_code = $2) and ($3::uuid is null or quarantine.request_id = $3)
      and ($4::integer is null or quarantine.record_index = $4)
    order by quarantine.request_id, quarantine.record_index limit $5`,
    [of.client ?? null, of.property ?? null, of.requestId ?? null, of.index ?? null, limit],
  );
  return rows;
}

const list = verb({
  summary: "list quarantined records",
  details:
    "Records are quarantined when their source time is more than 10 minutes ahead of their receipt, or when the database cannot store a value.",
  options: {
    client: text("CODE", "only of this client code"),
    property: text("CODE", "only of this property"),
    limit: withDefault(count("records listed", { most: 99_999 }), 100),
  },
  examples: ["quarantine list --client ACME"],
  json: '{"items": [{"requestId", "index", "clientCode", "propertyCode", "resource", "key", "code", "message"}], "more"}',
  async database({ client, property, limit }, { pool }, { output }) {
    const found = await listQuarantined(pool, { client, property }, limit + 1);
    const items = found.slice(0, limit);
    const more = found.length > limit;
    const columns: Columns<QuarantineEntry> = {
      REQUEST: "requestId",
      INDEX: "index",
      // A record that cannot be read has no property.
      PROPERTY: ({ clientCode, propertyCode }) => `${clientCode ?? "-"}/${propertyCode ?? "-"}`,
      RESOURCE: "resource",
      KEY: "key",
      CODE: "code",
      REASON: "message",
    };
    const rest = more ? [`More than ${limit} records are quarantined: raise --limit.`] : [];
    output.result({ items, more }, [...itemTable(columns, items, "No record is quarantined."), ...rest]);
  },
});

const REQUEST_ID = parsed("REQUEST_ID", "the id of the request", (given, name) => {
  if (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(given)) return given.toLowerCase();
  throw new UsageError(`${name} must be the UUID of a request, not ${JSON.stringify(given)}.`);
});
const INDEX = parsed(
  "INDEX|all",
  "the record's index in the batch, from 0, or all quarantined records",
  (given, name) => {
    if (/^(\d{1,6}|all)$/.test(given)) return given;
    throw new UsageError(`${name} must be the index of a record, or all, not ${JSON.stringify(given)}.`);
  },
);

/** A decision is an entry of the log, so that a replay makes the same one. */
function decision(kind: "release" | "discard", summary: string): Verb {
  const done = `${kind}d`.replace("discardd", "discarded");
  return verb({
    summary,
    details: "The running service carries it out, or the next one that starts.",
    args: { requestId: required(REQUEST_ID), which: required(INDEX) },
    examples: [
      `quarantine ${kind} 01980c5e-7a3b-7c1d-8f00-2b6d6b0f4a11 3`,
      `quarantine ${kind} 01980c5e-7a3b-7c1d-8f00-2b6d6b0f4a11 all`,
    ],
    json: '{"entryId", "requestId", "index", "kind"}; with all {"requestId", "kind", "entries": [{"index", "entryId"}]}',
    async database({ requestId, which }, { database, pool, who }, { output }) {
      const index = which === "all" ? undefined : Number(which);
      const found = await listQuarantined(pool, { requestId, index });
      if (found.length === 0)
        return output.failure(
          `No record of that request${which === "all" ? "" : " and index"} is quarantined (see bellhop quarantine list).`,
        );
      const log = await AcceptLog.open(database.clientConfig, 1, {});
      try {
        const entries: { index: number; entryId: string }[] = [];
        for (const { index, bucket, resourceLetter: resource } of found) {
          const entryId = await log.appendResolution({
            kind,
            operator: who,
            bucket,
            resource,
            requestId,
            index,
          });
          const detail = { requestId, index, entryId };
          await recordAudit(pool, { who, what: `${kind}-quarantined-record`, detail });
          entries.push({ index, entryId });
        }
        if (which === "all")
          output.result(
            { requestId, kind, entries },
            `${countText(entries.length, "record")} will be ${done}.`,
          );
        else
          for (const entry of entries)
            output.result(
              { entryId: entry.entryId, requestId, index: entry.index, kind },
              `The record will be ${done} (log entry ${entry.entryId}).`,
            );
        return 0;
      } finally {
        await log.close();
      }
    },
  });
}

export const command: Noun = {
  verbs: {
    list,
    release: decision("release", "apply a quarantined record verbatim"),
    discard: decision("discard", "discard a quarantined record: it is never applied"),
  },
};
