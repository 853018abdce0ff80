import {
  count,
  type Noun,
  parsed,
  REQUEST_ID,
  required,
  text,
  type Verb,
  verb,
  withDefault,
} from "../../cli/command.ts";
import { type Columns, itemTable } from "../../cli/output.ts";
import { AcceptLog } from "../../ingest/log/accept-log.ts";
import { UsageError } from "../../platform/errors/operator-error.ts";
import { countText } from "../../platform/runtime/amounts.ts";
import type { QuarantineItem } from "../console/answers.ts";
import { type Decision, decideQuarantined, findQuarantined, listQuarantined } from "../quarantine.ts";

const list = verb({
  summary: "list quarantined records",
  details:
    "CODE gives the cause: time.future, a source time more than 10 minutes after receipt; count.negative, a count below zero where the " +
    "setting negativeCounts is quarantine; data.unstorable, a value that the database rejects; record.unreadable and state.incomplete, " +
    "faults of the service (docs/operations.md).",
  options: {
    client: text("CODE", "only of this client code"),
    property: text("CODE", "only of this property"),
    limit: withDefault(count("records listed", { most: 99_999 }), 100),
  },
  examples: ["quarantine list --client ACME"],
  json: '{"items": [{"requestId", "index", "clientCode", "propertyCode", "resource", "key", "code", "message"}], "more"}',
  async database({ client, property, limit }, { pool }, { output }) {
    const filter = { clientCode: client, propertyCode: property };
    const { items, next } = await listQuarantined(pool, filter, null, null, limit);
    const more = next !== null;
    const columns: Columns<QuarantineItem> = {
      REQUEST: "requestId",
      INDEX: "index",
      // The property of an unreadable record is unknown.
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

const INDEX = parsed(
  "INDEX|all",
  "the record's index in the batch, from 0, or all quarantined records",
  (given, name) => {
    if (/^(\d{1,6}|all)$/.test(given)) return given;
    throw new UsageError(`${name} must be the index of a record, or all, not ${JSON.stringify(given)}.`);
  },
);

function decision(kind: Decision, summary: string): Verb {
  const done = `${kind}d`.replace("discardd", "discarded");
  return verb({
    summary,
    details: "The decision is applied by the running service, or after the next start.",
    args: { requestId: required(REQUEST_ID), which: required(INDEX) },
    examples: [
      `quarantine ${kind} 01980c5e-7a3b-7c1d-8f00-2b6d6b0f4a11 3`,
      `quarantine ${kind} 01980c5e-7a3b-7c1d-8f00-2b6d6b0f4a11 all`,
    ],
    json: '{"entryId", "requestId", "index", "kind"}; with all {"requestId", "kind", "entries": [{"index", "entryId"}]}',
    async database({ requestId, which }, { database, pool, who }, { output }) {
      const index = which === "all" ? undefined : Number(which);
      const of = await findQuarantined(pool, requestId, index);
      const found = of.filter(({ item }) => item.state === "quarantined");
      if (found.length === 0)
        return output.failure(
          `No record of that request${which === "all" ? "" : " and index"} is quarantined (see bellhop quarantine list).`,
        );
      const log = await AcceptLog.open(database.clientConfig, 1, {});
      try {
        const entries: { index: number; entryId: string }[] = [];
        for (const one of found) {
          const entryId = await decideQuarantined({ pool, log, who }, kind, one);
          if (entryId !== undefined) entries.push({ index: one.item.index, entryId });
        }
        if (entries.length === 0)
          return output.failure(
            "Each is already decided: the running service applies it, or the next start.",
          );
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
