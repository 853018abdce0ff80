import { isUtcTimestamp, microsecondTimestamp } from "#contract/calendar.ts";
import {
  CLIENT_ID,
  count,
  flag,
  type Noun,
  parsed,
  required,
  text,
  verb,
  withDefault,
} from "../cli/command.ts";
import { type Columns, fields, itemTable, moment, table } from "../cli/output.ts";
import type { AuthAdmin } from "../identity/admin.ts";
import { adminVerb } from "../identity/cli/administer.ts";
import { parseGrant } from "../identity/grants.ts";
import { OperatorError, UsageError } from "../platform/errors/operator-error.ts";
import {
  type Certification,
  DEFAULT_TERMS,
  endCertification,
  findCertification,
  listCertifications,
  openCertification,
} from "./certification.ts";
import { type EvidenceSpan, readReport } from "./read-report.ts";
import { htmlOf, markdownOf } from "./render.ts";
import { instructionsOf, type Report } from "./report.ts";

/** More than exist: ten are kept per client. */
const LISTED_MAX = 100_000;
const REPORT_JSON =
  '{"certificationId", "clientId", "property", "verdict", "steps": [{"step", "title", "instruction", "result", "reason"}], "evidence", ...}';

const start = adminVerb({
  summary: "open a certification for a client and print its steps",
  options: {
    clientId: required(text("CLIENT_ID", "the client to certify")),
    property: parsed(
      "CLIENTCODE/PROPERTYCODE",
      "property used in the examples (default: one of the client's)",
      (given) => {
        const property = parseGrant(given);
        if (typeof property === "string") throw new UsageError(property);
        return property;
      },
    ),
    rate: withDefault(count("requests per second while it is open"), DEFAULT_TERMS.requestRate),
    burst: withDefault(count("burst of requests while it is open"), DEFAULT_TERMS.requestBurst),
    tokenSeconds: withDefault(count("lifetime of tokens while it is open"), DEFAULT_TERMS.tokenSeconds),
    days: withDefault(count("days until it ends"), DEFAULT_TERMS.days),
  },
  examples: ["certify start --client-id bhc_4Zt1 --property ACME/LON01"],
  json: '{"certificationId", "clientId", "clientCode", "propertyCode", "openedAt", "endsAt", "steps", ...}',
  async admin({ clientId, property, rate, burst, tokenSeconds, days }, admin, { output }) {
    const terms = { requestRate: rate, requestBurst: burst, tokenSeconds, days, property };
    const certification = await openCertification(admin, clientId, terms);
    const steps = instructionsOf(certification);
    output.result({ ...certification, steps }, [
      ...certificationFields(certification),
      "\nThe integration completes these steps against the API, in any order:\n",
      ...steps.map(
        ({ title, instruction }, at) => `${String(at + 1).padStart(3)}. ${title}\n     ${instruction}\n`,
      ),
      "Progress: GET /api/public/v1/certification with the client's token, or",
      `bellhop certify show ${certification.certificationId}`,
    ]);
  },
});

function certificationFields(certification: Certification): string[] {
  const { certificationId, clientId, clientCode, propertyCode, requestRate, requestBurst } = certification;
  return fields([
    ["certification", certificationId],
    ["client", clientId],
    ["property of the examples", `${clientCode}/${propertyCode}`],
    ["requests per second", `${requestRate}, burst ${requestBurst}`],
    ["token lifetime", `${certification.tokenSeconds} seconds`],
    ["opened", certification.openedAt],
    [certification.isOpen ? "ends" : "ended", certification.endsAt],
  ]);
}

const RESULT_WORDS = { pass: "pass", fail: "FAIL", "not-yet": "not yet" } as const;

function reportLines({ verdict, steps, evidence }: Report): string[] {
  const rows = steps.map(({ step, result, reason }) => [RESULT_WORDS[result], step, reason]);
  const open = steps.filter(({ result }) => result !== "pass");
  const until = evidence.until ?? "now; no requests yet";
  return [
    ...table(["RESULT", "STEP", "REASON"], rows),
    ...(open.length === 0 ? [] : ["\nOpen steps:"]),
    ...open.map(({ title, instruction }) => `\n  ${title}\n    ${instruction}`),
    `\nVerdict: ${verdict} (evidence from ${evidence.from} to ${until}).`,
  ];
}

const instant = (help: string) =>
  parsed("TIME", help, (given, name) => {
    if (isUtcTimestamp(given)) return microsecondTimestamp(given);
    throw new UsageError(
      `${name} must be a UTC time such as 2026-06-01T08:30:00Z, not ${JSON.stringify(given)}.`,
    );
  });

const REPORTED = {
  args: { id: required(text("ID", "the id of a certification, or of a client for its latest one")) },
  options: {
    since: instant("only evidence from this time"),
    until: instant("only evidence before this time"),
  },
  exitCodes: "0 certified, 1 not certified (yet), or no such certification.",
};

/** Throws OperatorError if there is no such certification. */
async function reportOf({ internals: { pool } }: AuthAdmin, id: string, span: EvidenceSpan): Promise<Report> {
  const certification = await findCertification(pool, id);
  if (certification !== undefined) return readReport(pool, certification, span);
  throw new OperatorError(`No certification has the id ${JSON.stringify(id)} (see bellhop certify list).`);
}

const show = adminVerb({
  ...REPORTED,
  summary: "show the result of each step",
  examples: ["certify show bhc_4Zt1"],
  json: REPORT_JSON,
  async admin({ id, since, until }, admin, { output }) {
    const report = await reportOf(admin, id, { since, until });
    output.result(report, reportLines(report));
    return report.verdict === "certified" ? 0 : 1;
  },
});

const report = adminVerb({
  ...REPORTED,
  summary: "print the certification report",
  options: {
    ...REPORTED.options,
    html: flag("as HTML"),
    markdown: flag("as Markdown, which is the default"),
  },
  examples: ["certify report bhc_4Zt1 --html > report.html"],
  json: REPORT_JSON,
  async admin({ id, since, until, html, markdown }, admin, { output, json }) {
    if ([html, markdown, json].filter(Boolean).length > 1)
      throw new UsageError("--json, --html and --markdown cannot be combined.");
    const made = await reportOf(admin, id, { since, until });
    output.line(json ? JSON.stringify(made, null, 2) : html ? htmlOf(made) : markdownOf(made));
    return made.verdict === "certified" ? 0 : 1;
  },
});

const list = adminVerb({
  summary: "list certifications",
  options: { clientId: text("CLIENT_ID", "only of this client") },
  examples: ["certify list"],
  json: '{"certifications": [{"certificationId", "clientId", "isOpen", "openedAt", "endsAt", ...}]}',
  async admin({ clientId }, { internals }, { output }) {
    const filter = { id: clientId };
    const { items: certifications } = await listCertifications(internals.pool, filter, null, LISTED_MAX);
    const columns: Columns<Certification> = {
      CERTIFICATION: "certificationId",
      CLIENT: "clientId",
      STATE: ({ isOpen }) => (isOpen ? "open" : "ended"),
      OPENED: ({ openedAt }) => moment(openedAt),
      ENDS: ({ endsAt }) => moment(endsAt),
    };
    const empty = "No certifications. Open one: bellhop certify start --help";
    output.result({ certifications }, itemTable(columns, certifications, empty));
  },
});

const end = adminVerb({
  summary: "end a client's certification; its report is kept",
  args: { clientId: CLIENT_ID },
  examples: ["certify end bhc_4Zt1"],
  json: '{"client_id", "ended"}',
  async admin({ clientId }, admin, { output, json }) {
    const ended = await endCertification(admin, clientId);
    if (!ended && !json) return output.failure(`Client ${clientId} has no open certification.`);
    const text = `Certification ended: ${clientId} has its own limits again. The report is kept.`;
    output.result({ client_id: clientId, ended }, text);
    return ended ? 0 : 1;
  },
});

const reference = verb({
  summary: "run Bellhop's reference integration through every step",
  details:
    "Acts as the client whose certification is open. The last step takes as long as a token lives (start --token-seconds). Its source is src/certification/reference.",
  options: {
    url: required(text("URL", "the service")),
    authUrl: text("URL", "where tokens are issued (default: the service)"),
    clientId: required(text("ID", "the client's id")),
    clientSecret: required(text("SECRET", "the client's secret")),
  },
  examples: ["certify reference --url http://127.0.0.1:8080 --client-id bhc_4Zt1 --client-secret $SECRET"],
  json: REPORT_JSON,
  run: async ({ url: baseUrl, authUrl, clientId, clientSecret }, { output, progress }) => {
    const { runReference } = await import("./reference/run-reference.ts");
    const onStep = (step: string) => {
      progress.resume();
      output.message(`  ${step} ...`);
    };
    const identity = { baseUrl, authUrl, clientId, clientSecret };
    const made = await runReference(identity, onStep, progress.wait.bind(progress));
    output.result(made, reportLines(made));
    return made.verdict === "certified" ? 0 : 1;
  },
});

export const command: Noun = { verbs: { start, show, report, list, end, reference } };
