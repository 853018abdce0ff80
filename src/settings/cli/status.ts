import { choice, flag, type Noun, parsed, required, text, verb } from "../../cli/command.ts";
import { type Columns, itemTable } from "../../cli/output.ts";
import { UsageError } from "../../platform/errors/operator-error.ts";
import { changeMapping, listStatuses, type StatusMapping } from "../status-mapping.ts";

const CHARACTERS_MAX = 128;

const named = (value: string, help: string) =>
  required(
    parsed(value, help, (given, name) => {
      if (given.length <= CHARACTERS_MAX) return given;
      throw new UsageError(`${name} must have 1 to ${CHARACTERS_MAX} characters.`);
    }),
  );

const STATUS = {
  clientCode: named("CLIENTCODE", "the client code"),
  resource: required(choice("RESOURCE", ["reservations", "groups"], "the kind of record")),
  status: named("STATUS", "the status as the hotel sends it, quoted if it has spaces"),
};

const list = verb({
  summary: "list the statuses that records carry, with their mapping",
  options: {
    client: text("CLIENTCODE", "only of this client code"),
    unmapped: flag("only statuses without a mapping"),
  },
  examples: ["label list --client ACME --unmapped"],
  json: '{"items": [{"clientCode", "resource", "label", "records", "canonical", "deducts", "by"}]}',
  async database({ client, unmapped }, { pool }, { output }) {
    const all = await listStatuses(pool, client ?? null);
    const items = unmapped ? all.filter(({ by }) => by === "unmapped") : all;
    const columns: Columns<StatusMapping> = {
      "CLIENT CODE": "clientCode",
      RESOURCE: "resource",
      STATUS: "status",
      "CURRENT RECORDS": "records",
      "COUNTS ON THE BOOKS": ({ deducts }) => (deducts ? "yes" : "no"),
      MAPPING: ({ by, canonical }) => (by === "unmapped" ? "not mapped" : `${canonical ?? "-"} (${by})`),
    };
    const empty = unmapped ? "Every status is mapped." : "No record carries a status yet.";
    const answered = items.map(({ clientCode, resource, status: label, ...rest }) => ({
      clientCode,
      resource,
      label,
      ...rest,
    }));
    output.result({ items: answered }, itemTable(columns, items, empty));
  },
});

const map = verb({
  summary: "say whether records with a status count on the books",
  args: STATUS,
  options: {
    deducts: required(choice("yes|no", ["yes", "no"], "whether rooms under the status count on the books")),
  },
  examples: ['label map ACME reservations "WALK IN" --deducts yes'],
  json: '{"clientCode", "resource", "label", "deducts"}',
  async database({ clientCode, resource, status, deducts: given }, { pool, who }, { output }) {
    const deducts = given === "yes";
    await changeMapping(pool, who, { clientCode, resource, status }, deducts);
    const meaning = deducts ? "counts on the books" : "does not count on the books";
    output.result(
      { clientCode, resource, label: status, deducts },
      `Status ${status} ${meaning} for ${clientCode}.`,
    );
  },
});

const unmap = verb({
  summary: "remove a mapping: the default applies again",
  args: STATUS,
  examples: ['label unmap ACME reservations "WALK IN"'],
  json: '{"clientCode", "resource", "label"}',
  async database(of, { pool, who }, { output }) {
    const { clientCode, resource, status } = of;
    if (!(await changeMapping(pool, who, of, undefined)))
      return output.failure(`${clientCode} has no mapping for status ${status} (see bellhop label list).`);
    output.result(
      { clientCode, resource, label: status },
      `Mapping of ${status} removed: the default applies to ${clientCode}.`,
    );
    return 0;
  },
});

export const command: Noun = { verbs: { list, map, unmap } };
