import { type Noun, type Parameter, parsed, required, text, texts, verb, YES } from "../../cli/command.ts";
import { moment, type Output, table } from "../../cli/output.ts";
import { recordAudit } from "../../identity/audit.ts";
import { UsageError } from "../../platform/errors/operator-error.ts";
import { countText } from "../../platform/runtime/amounts.ts";
import {
  exportErasures,
  findCertificate,
  listErasures,
  type RecordSubject,
  readListFile,
  type Subject,
  writeListFile,
} from "../erasure/erasure-list.ts";
import { findGuests, type GuestSearch } from "../erasure/find-records.ts";
import { carryOutList, type ErasureReport, resumeErasure, runErasure } from "../erasure/run-erasure.ts";

/** CLIENT/PROPERTY/KEY; the key is everything after the second slash. */
function records(resource: RecordSubject["resource"], key: string, help: string): Parameter<RecordSubject[]> {
  return {
    ...texts(`CLIENT/PROPERTY/${key}`, help),
    read: (given) =>
      given.map((one) => {
        const [, clientCode, propertyCode, named] =
          /^([^/]{1,128})\/([^/]{1,128})\/(.{1,128})$/s.exec(one) ?? [];
        if (clientCode === undefined || propertyCode === undefined || named === undefined)
          throw new UsageError(`A record must be given as CLIENT/PROPERTY/KEY, not ${JSON.stringify(one)}.`);
        return { resource, clientCode, propertyCode, key: named };
      }),
  };
}

const SUBJECTS = {
  reservation: records("reservations", "ID", "a reservation"),
  group: records("groups", "CODE", "a group block"),
  profileId: text("ID", "a profile"),
  client: text("CLIENTCODE", "the client code that the profile belongs to"),
};
const ERASURE_ID = { erasureId: required(text("ERASURE_ID", "the erasure's id (bellhop erasure list)")) };
const EXAMPLE_ID = "01980c5e-7a3b-7c1d-8f00-2b6d6b0f4a11";
const REPORT_JSON = '{"erasureId", "records", "redacted", "certificateHash"}';

const find = verb({
  summary: "search the log for records that name a guest",
  details:
    "Give exactly one of --reservation, --group, --profile-id and --name. The output is personal data.",
  options: {
    ...SUBJECTS,
    name: text("NAME", "a part of a profile's or group's name, in any spelling of accents and case"),
  },
  examples: ['erasure find --name "Jane Doe" --client ACME', "erasure find --reservation ACME/PAR01/R-1001"],
  json: '{"items": [{"resource", "clientCode", "propertyCode", "key", "copies", "names", "profileIds"}]}',
  exitCodes: "0 found, 1 nothing found.",
  run: ({ reservation, group, profileId, name, client }, { output, session }) => {
    const clientCode = client ?? null;
    const searches: GuestSearch[] = [...reservation, ...group].map((subject) => ({
      kind: "record",
      subject,
    }));
    if (profileId !== undefined) searches.push({ kind: "profile", profileId, clientCode });
    if (name !== undefined) searches.push({ kind: "name", name, clientCode });
    const [search] = searches;
    if (search === undefined || searches.length > 1)
      throw new UsageError("Give exactly one of --reservation, --group, --profile-id and --name.");
    return session.connection("erasure", async (connection) => {
      const found = await findGuests(connection, search);
      const items = found.map((one) => ({ ...one, names: [...one.names], profileIds: [...one.profileIds] }));
      const rows = items.map(
        ({ resource, clientCode: code, propertyCode, key, copies, names, profileIds }) => [
          resource,
          `${code}/${propertyCode}/${key}`,
          String(copies),
          profileIds.join("; "),
          names.join("; "),
        ],
      );
      const heads = ["RESOURCE", "RECORD", "COPIES", "PROFILES", "NAMES"];
      output.result({ items }, table(heads, rows, "Nothing was found in the log."));
      return items.length === 0 ? 1 : 0;
    });
  },
});

function printReport(
  { erasureId, records: found, redacted, certificateHash }: ErasureReport,
  output: Output,
): void {
  // A mistyped code would look like an erasure that is done.
  const isUnmatched = redacted["logRecords"] === 0 && redacted["versions"] === 0;
  output.result({ erasureId, records: found, redacted, certificateHash }, [
    `Erasure ${erasureId}: of ${countText(found.length, "record")}, redacted ${redacted["logRecords"]} copies in the log,`,
    `${redacted["versions"]} versions, ${redacted["rejectedRecords"]} rejected records and ${redacted["webhookMessages"]} webhook messages.`,
    ...(isUnmatched
      ? ["No stored record matches. Check the code with: bellhop erasure find. Later batches are redacted."]
      : []),
    `Certificate: bellhop erasure certificate ${erasureId} (SHA-256 ${certificateHash}).`,
    "Export the erasure list now, because no backup contains this erasure: bellhop erasure export FILE",
  ]);
}

const run = verb({
  summary: "erase a guest's personal data",
  details:
    "Redacts these records, and every reservation of the client code that names the profile, wherever they are stored and in later " +
    "batches. This cannot be undone. The reason is stored: do not name anybody in it.",
  options: { ...SUBJECTS, reason: required(text("REASON", "why, without naming anybody")), yes: YES },
  examples: [
    'erasure run --reservation ACME/PAR01/R-1001 --reason "request of 2 June"',
    'erasure run --profile-id P-77 --client ACME --reason "request of 2 June"',
  ],
  json: REPORT_JSON,
  confirms: ({ yes }) =>
    yes ? undefined : "The personal data in these records is erased wherever it is stored.",
  run: ({ reservation, group, profileId, client: clientCode, reason }, { output, session }) => {
    if (reason.trim() === "") throw new UsageError("--reason is missing.");
    if ((profileId === undefined) !== (clientCode === undefined))
      throw new UsageError(
        "--profile-id and --client go together: profile ids are unique within a client code.",
      );
    const profile = profileId === undefined || clientCode === undefined ? [] : [{ clientCode, profileId }];
    const subjects: Subject[] = [...reservation, ...group, ...profile];
    if (subjects.length === 0)
      throw new UsageError("Give at least one of --reservation, --group and --profile-id.");
    return session.connection("erasure", async (connection, { who }) =>
      printReport(await runErasure(connection, { subjects, reason, who }), output),
    );
  },
});

const resume = verb({
  summary: "resume an interrupted erasure",
  args: ERASURE_ID,
  examples: [`erasure resume ${EXAMPLE_ID}`],
  json: REPORT_JSON,
  run: ({ erasureId }, { output, session }) =>
    session.connection("erasure", async (connection, { who }) =>
      printReport(await resumeErasure(connection, erasureId, who), output),
    ),
});

const list = verb({
  summary: "list erasures",
  examples: ["erasure list"],
  json: '{"items": [{"erasureId", "requestedBy", "reason", "startedAt", "finishedAt", "certificateHash", "subjects"}]}',
  run: (_, { output, session }) =>
    session.connection("erasure", async (connection) => {
      const items = await listErasures(connection);
      const rows = items.map(({ erasureId, startedAt, finishedAt, subjects, requestedBy, reason }) => [
        erasureId,
        moment(startedAt),
        finishedAt === null ? "unfinished" : moment(finishedAt),
        String(subjects),
        requestedBy,
        reason,
      ]);
      const heads = ["ERASURE", "STARTED", "FINISHED", "SUBJECTS", "BY", "REASON"];
      output.result({ items }, table(heads, rows, "No erasures."));
    }),
});

const certificate = verb({
  summary: "print the certificate of an erasure",
  details: "Its SHA-256 is in the audit log.",
  args: ERASURE_ID,
  examples: [`erasure certificate ${EXAMPLE_ID} > certificate.json`],
  json: "the certificate, as without",
  run: ({ erasureId }, { output, session }) =>
    session.connection("erasure", async (connection) => {
      const found = await findCertificate(connection, erasureId);
      if (found === undefined)
        return output.failure(`Erasure ${erasureId} has no certificate (see bellhop erasure list).`);
      output.line(found.trimEnd());
      return 0;
    }),
});

const exportList = verb({
  summary: "write the erasure list to a file",
  details:
    "The file is readable by its owner only (mode 0600) and replaces an earlier one. Keep it apart from backups.",
  args: { file: required(text("FILE", "the file; - is standard output")) },
  examples: ["erasure export /secure/erasures.json"],
  json: '{"file"}; for - the list itself',
  run: ({ file }, { output, session }) =>
    session.connection("erasure", async (connection, { who }) => {
      const exported = await exportErasures(connection);
      if (file !== "-") await writeListFile(file, exported);
      await recordAudit(connection, { who, what: "export-erasures" });
      if (file === "-") output.line(exported.trimEnd());
      else output.result({ file }, []);
    }),
});

const importList = verb({
  summary: "import an erasure list and carry it out",
  details:
    "For a database that was restored with PostgreSQL's own tools; bellhop restore --erasures does the same.",
  args: { list: required(parsed("FILE", "the exported list", (file) => file)) },
  examples: ["erasure import /secure/erasures.json"],
  json: '{"erasures", "added", "records"}',
  run: ({ list: file }, { output, session }) =>
    session.connection("erasure", async (connection, { who }) => {
      const report = await carryOutList(connection, await readListFile(file), who);
      const { erasures, added, records: redacted } = report;
      output.result(
        report,
        `${countText(erasures, "erasure")} imported, ${added} of them new; ${countText(redacted, "copy", "copies")} of records redacted.`,
      );
    }),
});

export const command: Noun = {
  verbs: { find, run, resume, list, certificate, export: exportList, import: importList },
};
