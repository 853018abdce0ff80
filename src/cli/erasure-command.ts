import pg from "pg";
import { recordAudit } from "../auth/audit.ts";
import { WorkUnderWay } from "../db/exclusive-work.ts";
import { ErasureError } from "../retention/erasure/erasure-error.ts";
import { type FoundRecord, findGuests, type GuestSearch } from "../retention/erasure/find-guests.ts";
import { exportErasures, importErasures } from "../retention/erasure/list-file.ts";
import { readListFile, writeListFile } from "../retention/erasure/list-on-disk.ts";
import { findCertificate, listErasures } from "../retention/erasure/read-erasures.ts";
import {
  applyImported,
  type ErasureReport,
  resumeErasure,
  runErasure,
} from "../retention/erasure/run-erasure.ts";
import type { RecordSubject, Subject } from "../retention/erasure/subject.ts";
import { type CommandContext, openForCommand } from "./open-for-command.ts";
import { momentText, tableLines } from "./text-output.ts";
import {
  readArgs,
  readOne,
  runVerb,
  shellContext,
  UsageError,
  type Verb,
  type VerbContext,
  type Verbs,
} from "./verb.ts";

const JSON_OPTION = { json: { type: "boolean", default: false } } as const;
const SUBJECT_OPTIONS = {
  reservation: { type: "string", multiple: true, default: [] as string[] },
  group: { type: "string", multiple: true, default: [] as string[] },
  "profile-id": { type: "string" },
  client: { type: "string" },
} as const;

/** CLIENT/PROPERTY/KEY; what follows the second slash is the key, whatever is in it. */
function readRecord(resource: RecordSubject["resource"], text: string): RecordSubject {
  const [, clientCode, propertyCode, key] = /^([^/]{1,128})\/([^/]{1,128})\/(.{1,128})$/s.exec(text) ?? [];
  if (clientCode === undefined || propertyCode === undefined || key === undefined)
    throw new UsageError(`A record is named as CLIENT/PROPERTY/KEY, not ${JSON.stringify(text)}.`);
  return { resource, clientCode, propertyCode, key };
}

/** Runs `work` on a connection of its own, and says what cannot be done in a line. */
function onClient(
  environment: NodeJS.ProcessEnv,
  err: (line: string) => void,
  work: (client: pg.Client, context: CommandContext) => Promise<number>,
): Promise<number> {
  return openForCommand(environment, async (context) => {
    const client = new pg.Client({ ...context.database.clientConfig, application_name: "bellhop erasure" });
    client.on("error", () => undefined);
    await client.connect();
    try {
      return await work(client, context);
    } catch (error) {
      if (!(error instanceof ErasureError) && !(error instanceof WorkUnderWay)) throw error;
      err(`bellhop: ${error.message}`);
      return 1;
    } finally {
      await client.end();
    }
  });
}

function describeFound(found: readonly FoundRecord[]): string[] {
  if (found.length === 0) return ["Nothing was found in the log."];
  const rows = found.map(({ resource, clientCode, propertyCode, key, copies, names, profileIds }) => [
    ...[resource, `${clientCode}/${propertyCode}/${key}`, String(copies)],
    ...[[...profileIds].join("; "), [...names].join("; ")],
  ]);
  return tableLines(["RESOURCE", "RECORD", "COPIES", "PROFILES", "NAMES"], rows);
}

function readSearch(values: {
  readonly reservation: string[];
  readonly group: string[];
  readonly "profile-id"?: string | undefined;
  readonly name?: string | undefined;
  readonly client?: string | undefined;
}): GuestSearch {
  const clientCode = values.client ?? null;
  const searches: GuestSearch[] = [
    ...values.reservation.map((text) => ({
      kind: "record" as const,
      subject: readRecord("reservations", text),
    })),
    ...values.group.map((text) => ({ kind: "record" as const, subject: readRecord("groups", text) })),
    ...[values["profile-id"] ?? []]
      .flat()
      .map((profileId) => ({ kind: "profile" as const, profileId, clientCode })),
    ...[values.name ?? []].flat().map((name) => ({ kind: "name" as const, name, clientCode })),
  ];
  const [search] = searches;
  if (search === undefined || searches.length > 1)
    throw new UsageError("Look for one thing: --reservation, --group, --profile-id or --name.");
  return search;
}

function find(environment: NodeJS.ProcessEnv): Verb {
  return {
    usage: `bellhop erasure find --reservation CLIENT/PROPERTY/ID | --group CLIENT/PROPERTY/CODE |
    --profile-id ID [--client CODE] | --name NAME [--client CODE]   [--json]

Reads the log for records that name a guest. What it prints is personal data. Exit code 1: nothing was found.`,
    run(args, { out, err }) {
      const options = { ...SUBJECT_OPTIONS, name: { type: "string" }, ...JSON_OPTION } as const;
      const { values } = readArgs({ args: [...args], options });
      const search = readSearch(values);
      return onClient(environment, err, async (client) => {
        const found = await findGuests(client, search);
        const plain = found.map((one) => ({
          ...one,
          names: [...one.names],
          profileIds: [...one.profileIds],
        }));
        if (values.json) out(JSON.stringify({ items: plain }));
        else for (const line of describeFound(found)) out(line);
        return found.length === 0 ? 1 : 0;
      });
    },
  };
}

function tell(report: ErasureReport, json: boolean, out: (line: string) => void): number {
  const { erasureId, records, redacted, certificateHash } = report;
  if (json) out(JSON.stringify({ erasureId, records, redacted, certificateHash }));
  else {
    out(
      `Erased: ${erasureId}. Of ${records.length} records ${redacted["logRecords"]} copies in the log were redacted,`,
    );
    out(
      `${redacted["versions"]} versions, ${redacted["rejectedRecords"]} rejected records, ${redacted["webhookMessages"]} messages.`,
    );
    out(`Certificate: bellhop erasure certificate ${erasureId} (SHA-256 ${certificateHash}).`);
    out("Export the erasure list now: no backup has it (bellhop erasure export FILE).");
  }
  return 0;
}

function run(environment: NodeJS.ProcessEnv): Verb {
  return {
    usage: `bellhop erasure run (--reservation CLIENT/PROPERTY/ID)… (--group CLIENT/PROPERTY/CODE)…
    [--profile-id ID --client CODE] --reason REASON [--json]

Erases a guest: what may say who somebody is goes out of these records, and of every reservation of the client code that
names the profile, wherever they are kept, and out of what is sent of them later. It cannot be undone. The reason is kept: name
nobody in it.`,
    run(args, { out, err }) {
      const options = { ...SUBJECT_OPTIONS, reason: { type: "string" }, ...JSON_OPTION } as const;
      const { values } = readArgs({ args: [...args], options });
      const { reason = "", client: clientCode, json } = values;
      if (reason.trim() === "") throw new UsageError("--reason is missing: why, without naming anybody.");
      const profileId = values["profile-id"];
      if ((profileId === undefined) !== (clientCode === undefined))
        throw new UsageError(
          "--profile-id and --client belong together: another client's profiles are other people.",
        );
      const subjects: Subject[] = [
        ...values.reservation.map((text) => readRecord("reservations", text)),
        ...values.group.map((text) => readRecord("groups", text)),
        ...(profileId === undefined || clientCode === undefined ? [] : [{ clientCode, profileId }]),
      ];
      if (subjects.length === 0) throw new UsageError("Whom? --reservation, --group or --profile-id.");
      return onClient(environment, err, async (client, { who }) =>
        tell(await runErasure(client, { subjects, reason, who }), json, out),
      );
    },
  };
}

function resume(environment: NodeJS.ProcessEnv): Verb {
  return {
    usage: "bellhop erasure resume ERASURE_ID [--json]\n\nGoes on with an erasure that was cut off.",
    run(args, { out, err }) {
      const line = readArgs({ args: [...args], options: JSON_OPTION, allowPositionals: true });
      const erasureId = readOne("the erasure's id", line.positionals);
      return onClient(environment, err, async (client, { who }) =>
        tell(await resumeErasure(client, erasureId, who), line.values.json, out),
      );
    },
  };
}

function list(environment: NodeJS.ProcessEnv): Verb {
  return {
    usage: "bellhop erasure list [--json]",
    run(args, { out, err }) {
      const { json } = readArgs({ args: [...args], options: JSON_OPTION }).values;
      return onClient(environment, err, async (client) => {
        const items = await listErasures(client);
        if (json) out(JSON.stringify({ items }));
        else if (items.length === 0) out("Nobody has been erased.");
        else {
          const rows = items.map(({ erasureId, startedAt, finishedAt, subjects, requestedBy, reason }) => [
            ...[erasureId, momentText(startedAt), finishedAt === null ? "under way" : momentText(finishedAt)],
            ...[String(subjects), requestedBy, reason],
          ]);
          const heads = ["ERASURE", "STARTED", "FINISHED", "SUBJECTS", "BY", "REASON"];
          for (const text of tableLines(heads, rows)) out(text);
        }
        return 0;
      });
    },
  };
}

function certificate(environment: NodeJS.ProcessEnv): Verb {
  return {
    usage:
      "bellhop erasure certificate ERASURE_ID\n\nPrints the certificate as the text whose SHA-256 was noted in the audit.",
    run(args, { out, err }) {
      const line = readArgs({ args: [...args], options: {}, allowPositionals: true });
      const erasureId = readOne("the erasure's id", line.positionals);
      return onClient(environment, err, async (client) => {
        const text = await findCertificate(client, erasureId);
        if (text === undefined) {
          err(`bellhop: there is no certificate of ${erasureId} (see bellhop erasure list).`);
          return 1;
        }
        out(text.trimEnd());
        return 0;
      });
    },
  };
}

function exportList(environment: NodeJS.ProcessEnv): Verb {
  return {
    usage:
      "bellhop erasure export FILE|-\n\nWrites the erasure list to a file (mode 0600), in the place of an earlier one, or to standard output. Keep it apart from backups.",
    run(args, { out, err }) {
      const line = readArgs({ args: [...args], options: {}, allowPositionals: true });
      const file = readOne("the file", line.positionals);
      return onClient(environment, err, async (client, { who }) => {
        const text = await exportErasures(client);
        if (file === "-") out(text.trimEnd());
        else await writeListFile(file, text);
        await recordAudit(client, { who, what: "export-erasures" });
        return 0;
      });
    },
  };
}

function importList(environment: NodeJS.ProcessEnv): Verb {
  return {
    usage:
      "bellhop erasure import FILE [--json]\n\nTakes an exported list in, and everybody on it out of what is kept here: after a restore by PostgreSQL's own tools.",
    run(args, { out, err }) {
      const line = readArgs({ args: [...args], options: JSON_OPTION, allowPositionals: true });
      const file = readOne("the file", line.positionals);
      return onClient(environment, err, async (client, { who }) => {
        const erasures = await readListFile(file);
        const added = await importErasures(client, erasures);
        // All of them: an import that was cut off has listed some that it has not carried out.
        const ids = erasures.erasures.map(({ erasureId }) => erasureId);
        const records = await applyImported(client, ids, who);
        if (line.values.json) out(JSON.stringify({ erasures: ids.length, added: added.length, records }));
        else
          out(
            `${ids.length} erasures, ${added.length} of them new here; ${records} copies of records were redacted.`,
          );
        return 0;
      });
    },
  };
}

/** `bellhop erasure …`: guests who ask to be forgotten (docs/privacy.md). Answers the exit code. */
export function erasureCommand(
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
  context: VerbContext = shellContext(environment),
): Promise<number> {
  const verbs: Verbs = {
    find: find(environment),
    run: run(environment),
    resume: resume(environment),
    list: list(environment),
    certificate: certificate(environment),
    export: exportList(environment),
    import: importList(environment),
  };
  return runVerb("erasure", verbs, args, context);
}
