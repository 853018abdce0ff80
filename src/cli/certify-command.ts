import { parseGrant } from "../auth/grants.ts";
import {
  type Certification,
  type CertificationTerms,
  DEFAULT_TERMS,
  endCertification,
  findCertification,
  listCertifications,
  openCertification,
} from "../certify/certification.ts";
import { readReport } from "../certify/read-report.ts";
import { htmlOf } from "../certify/render/html.ts";
import { markdownOf } from "../certify/render/markdown.ts";
import { instructionsOf, type Report } from "../certify/report.ts";
import { isUtcTimestamp, microsecondTimestamp } from "../contract/calendar.ts";
import { fieldLines, tableLines } from "./text-output.ts";
import {
  JSON_OPTION,
  readArgs,
  readCount,
  readOne,
  runVerb,
  shellContext,
  UsageError,
  type Verb,
  type VerbContext,
  type Verbs,
} from "./verb.ts";

const TERMS_OPTIONS = {
  client: { type: "string" },
  property: { type: "string" },
  rate: { type: "string" },
  burst: { type: "string" },
  "token-seconds": { type: "string" },
  days: { type: "string" },
} as const;

type TermsValues = Partial<Record<keyof typeof TERMS_OPTIONS, string>>;

function termsOf(values: TermsValues): CertificationTerms {
  const property = values.property === undefined ? undefined : parseGrant(values.property);
  if (typeof property === "string") throw new UsageError(property);
  return {
    requestRate: readCount("rate", values.rate) ?? DEFAULT_TERMS.requestRate,
    requestBurst: readCount("burst", values.burst) ?? DEFAULT_TERMS.requestBurst,
    tokenSeconds: readCount("token-seconds", values["token-seconds"]) ?? DEFAULT_TERMS.tokenSeconds,
    days: readCount("days", values.days) ?? DEFAULT_TERMS.days,
    ...(property === undefined ? {} : { property }),
  };
}

/** A certification for people. */
function certificationFields(certification: Certification): [string, string][] {
  const { certificationId, clientId, clientCode, propertyCode, requestRate, requestBurst } = certification;
  return [
    ["certification", certificationId],
    ["client", clientId],
    ["property of the examples", `${clientCode}/${propertyCode}`],
    ["requests a second", `${requestRate}, ${requestBurst} at once`],
    ["a token lives", `${certification.tokenSeconds} seconds`],
    ["opened", certification.openedAt],
    [certification.isOpen ? "ends" : "ended", certification.endsAt],
  ];
}

const start: Verb = {
  usage:
    "bellhop certify start --client CLIENT_ID [--property CLIENTCODE/PROPERTYCODE] [--rate N] [--burst N] [--token-seconds N] [--days N] [--json]",
  async run(args, { out, withAdmin }) {
    const { values } = readArgs({ args: [...args], options: { ...TERMS_OPTIONS, ...JSON_OPTION } });
    const clientId = readOne("--client", [], values.client);
    const terms = termsOf(values);
    return withAdmin(async (admin) => {
      const certification = await openCertification(admin, clientId, terms);
      const steps = instructionsOf(certification);
      if (values.json) {
        out(JSON.stringify({ ...certification, steps }));
        return 0;
      }
      for (const line of fieldLines(certificationFields(certification))) out(line);
      out("\nTo be shown by the integration, against the API as it is, in any order:\n");
      for (const [at, { title, instruction }] of steps.entries())
        out(`${String(at + 1).padStart(3)}. ${title}\n     ${instruction}\n`);
      out("How it stands: GET /api/public/v1/certification with the client's own token, or");
      out(`bellhop certify show ${certification.certificationId}`);
      return 0;
    });
  },
};

const RESULT_WORDS = { pass: "pass", fail: "FAIL", "not-yet": "not yet" } as const;

function showReport({ verdict, steps, evidence }: Report, out: VerbContext["out"]): void {
  const rows = steps.map(({ step, result, reason }) => [RESULT_WORDS[result], step, reason]);
  for (const line of tableLines(["RESULT", "STEP", "WHY"], rows)) out(line);
  const open = steps.filter(({ result }) => result !== "pass");
  if (open.length > 0) out("\nTo be done:");
  for (const { title, instruction } of open) out(`\n  ${title}\n    ${instruction}`);
  out(`\n${verdict}, by what was seen from ${evidence.from} to ${evidence.until ?? "now: nothing"}.`);
}

const SPAN_OPTIONS = { since: { type: "string" }, until: { type: "string" } } as const;

function instantOf(name: string, text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  if (!isUtcTimestamp(text)) throw new UsageError(`--${name} is a UTC time such as 2026-06-01T08:30:00Z.`);
  return microsecondTimestamp(text);
}

/** Reads the report that a line names, and hands it to `tell`. Exit code 0 only for one that is certified. */
function report(
  usage: string,
  formats: readonly string[],
  tell: (report: Report, format: string | undefined, out: VerbContext["out"]) => void,
): Verb {
  return {
    usage,
    async run(args, { out, err, withAdmin }) {
      const options = {
        ...SPAN_OPTIONS,
        ...Object.fromEntries(formats.map((name) => [name, { type: "boolean" } as const])),
      };
      const { values, positionals } = readArgs({ args: [...args], options, allowPositionals: true });
      const id = readOne("The id of a certification, or of a client,", positionals);
      const chosen = formats.filter((name) => (values as Record<string, unknown>)[name] === true);
      if (chosen.length > 1) throw new UsageError(`One of --${formats.join(", --")} at a time.`);
      const since = instantOf("since", values.since);
      const until = instantOf("until", values.until);
      return withAdmin(async ({ internals }) => {
        const certification = await findCertification(internals.pool, id);
        if (certification === undefined) {
          err(`bellhop: there is no certification ${JSON.stringify(id)} (see bellhop certify list).`);
          return 1;
        }
        const made = await readReport(internals.pool, certification, { since, until });
        tell(made, chosen[0], out);
        return made.verdict === "certified" ? 0 : 1;
      });
    },
  };
}

const show = report(
  "bellhop certify show ID [--since TIME] [--until TIME] [--json]",
  ["json"],
  (made, format, out) => (format === "json" ? out(JSON.stringify(made)) : showReport(made, out)),
);

const reportDocument = report(
  "bellhop certify report ID [--since TIME] [--until TIME] [--json|--html|--markdown]",
  ["json", "html", "markdown"],
  (made, format, out) => {
    if (format === "json") out(JSON.stringify(made, null, 2));
    else out(format === "html" ? htmlOf(made) : markdownOf(made));
  },
);

const list: Verb = {
  usage: "bellhop certify list [--client CLIENT_ID] [--json]",
  async run(args, { out, withAdmin }) {
    const options = { client: { type: "string" }, ...JSON_OPTION } as const;
    const { values } = readArgs({ args: [...args], options });
    return withAdmin(async ({ internals }) => {
      const certifications = await listCertifications(internals.pool, values.client ?? null);
      if (values.json) out(JSON.stringify({ certifications }));
      else if (certifications.length === 0) out("There is none yet (bellhop certify start --help).");
      else {
        const rows = certifications.map(({ certificationId, clientId, isOpen, openedAt, endsAt }) => [
          ...[certificationId, clientId, isOpen ? "open" : "ended", openedAt, endsAt],
        ]);
        for (const line of tableLines(["CERTIFICATION", "CLIENT", "STATE", "OPENED", "ENDS"], rows))
          out(line);
      }
      return 0;
    });
  },
};

const end: Verb = {
  usage: "bellhop certify end CLIENT_ID [--json]",
  async run(args, { out, err, withAdmin }) {
    const { values, positionals } = readArgs({
      args: [...args],
      options: JSON_OPTION,
      allowPositionals: true,
    });
    const clientId = readOne("CLIENT_ID", positionals);
    return withAdmin(async (admin) => {
      const ended = await endCertification(admin, clientId);
      if (values.json) out(JSON.stringify({ client_id: clientId, ended }));
      else if (ended) out(`Ended: ${clientId} has its own limits again. Its report stays.`);
      else err(`bellhop: no certification of ${clientId} is open.`);
      return ended ? 0 : 1;
    });
  },
};

const reference: Verb = {
  usage:
    "bellhop certify reference --url ADDRESS --client-id ID --client-secret SECRET [--auth-url ADDRESS] [--json]\n\nOur own integration does every step as the client whose certification is open there: src/certify/reference shows how.",
  async run(args, { out, err }) {
    const text = { type: "string" } as const;
    const names = { url: text, "auth-url": text, "client-id": text, "client-secret": text };
    const { values } = readArgs({ args: [...args], options: { ...names, ...JSON_OPTION } });
    const options = {
      baseUrl: readOne("--url", [], values.url),
      authUrl: values["auth-url"],
      clientId: readOne("--client-id", [], values["client-id"]),
      clientSecret: readOne("--client-secret", [], values["client-secret"]),
    };
    const { runReference } = await import("../certify/reference/run-reference.ts");
    const made = await runReference(options, (step) => err(`  ${step} …`));
    if (values.json) out(JSON.stringify(made));
    else showReport(made, out);
    return made.verdict === "certified" ? 0 : 1;
  },
};

const VERBS: Verbs = { start, show, report: reportDocument, list, end, reference };

/** `bellhop certify start|show|report|list|end|reference`. Answers the exit code. */
export function certifyCommand(
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
  context: VerbContext = shellContext(environment),
): Promise<number> {
  return runVerb("certify", VERBS, args, context);
}
