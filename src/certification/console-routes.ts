import type { FastifyInstance } from "fastify";
import { RESOURCES } from "#contract/resource.ts";
import { adminOf, type ConsoleParts } from "../console/console-parts.ts";
import { type Asked, addChange, addQuestion, type Form, pagingOf } from "../console/console-routes.ts";
import { AuthInputError } from "../identity/admin.ts";
import { clientsWithin } from "../identity/client-admin.ts";
import { type Grant, parseGrant } from "../identity/grants.ts";
import type { OperatorSession } from "../identity/operator-sessions.ts";
import { writeScopeOf } from "../identity/scopes.ts";
import { ConsoleError } from "../platform/errors/console-registry.ts";
import type { Page } from "../platform/http/answers.ts";
import { code, instant, pages, word } from "../platform/http/parameters.ts";
import {
  CERTIFICATION_POSITION,
  type Certification,
  DEFAULT_TERMS,
  endCertification,
  listCertifications,
  openCertification,
} from "./certification.ts";
import type { CertificationContext } from "./certification-route.ts";
import type { CertificationAnswer, CertificationItem } from "./console-answers.ts";
import { readReport } from "./read-report.ts";
import { htmlOf } from "./render.ts";
import { CHECKLIST, type Report } from "./report.ts";

const DOCS: ReadonlyMap<string, string> = new Map(CHECKLIST.map(({ name, docs }) => [name, docs]));

function itemOf({ scopes, ...certification }: Certification): CertificationItem {
  const resources = RESOURCES.filter((resource) => scopes.includes(writeScopeOf(resource)));
  return { ...certification, resources };
}

async function requireOne(
  { context: { pool } }: ConsoleParts,
  { operator, named }: Pick<Asked, "operator" | "named">,
): Promise<Certification> {
  const id = named["certificationId"] ?? "";
  const filter = { id, clients: await clientsWithin(pool, operator.scope) };
  const found = (await listCertifications(pool, filter, null, 1)).items[0];
  if (found?.certificationId === id) return found;
  throw new ConsoleError("bellhop.console.NotFound", { message: "No certification has this id." });
}

/** As for the client: events of other threads are visible from the next request on. */
async function reportOf(
  { context: { pool, wireNotes } }: ConsoleParts<CertificationContext>,
  certification: Certification,
  { scope }: OperatorSession,
  since?: string,
): Promise<Report> {
  await wireNotes.settled();
  return readReport(pool, certification, { since, within: scope.isEverything ? undefined : scope });
}

async function describe(
  parts: ConsoleParts<CertificationContext>,
  asked: Pick<Asked, "operator" | "named">,
  since?: string,
): Promise<CertificationAnswer> {
  const certification = await requireOne(parts, asked);
  const { verdict, steps, observed, evidence } = await reportOf(parts, certification, asked.operator, since);
  const linked = steps.map((step) => ({ ...step, docs: DOCS.get(step.step) ?? "" }));
  return { ...itemOf(certification), verdict, steps: linked, observed, evidence };
}

function propertyOf(text: string | undefined): Grant | undefined {
  const property = text === undefined ? undefined : parseGrant(text);
  if (typeof property === "string") throw new AuthInputError(property);
  return property;
}

async function start(
  parts: ConsoleParts<CertificationContext>,
  { body, operator }: Form,
): Promise<CertificationAnswer> {
  const clientId = body.requiredText("clientId");
  const property = propertyOf(body.text("property"));
  const terms = { ...DEFAULT_TERMS, days: body.count("days") ?? DEFAULT_TERMS.days, property };
  const { certificationId } = await openCertification(adminOf(parts, operator), clientId, terms);
  return describe(parts, { operator, named: { certificationId } });
}

async function finish(parts: ConsoleParts<CertificationContext>, form: Form): Promise<CertificationAnswer> {
  const { clientId, isOpen } = await requireOne(parts, form);
  if (!isOpen || !(await endCertification(adminOf(parts, form.operator), clientId)))
    throw new ConsoleError("bellhop.console.Conflict", { message: "This certification has already ended." });
  return describe(parts, form);
}

/** Adds the console's equivalents of `bellhop certify`. */
export function addCertificationRoutes(
  scope: FastifyInstance,
  parts: ConsoleParts<CertificationContext>,
): void {
  const { pool, reports } = parts.context;
  // Reports share a separate concurrency limit, so that they do not delay other queries.
  const reporting = { ...parts, questions: reports };
  const listed = { clientId: code(), state: word("", ["open", "ended"], "open"), ...pages() };
  type List = Promise<Page<CertificationItem>>;
  addQuestion(
    scope,
    parts,
    { permission: "read-data", path: "certifications", parameters: listed },
    async (asked): List => {
      const { operator } = asked;
      const { state, clientId } = asked.parameters;
      const filter = {
        id: clientId,
        isOpen: state === undefined ? undefined : state === "open",
        clients: await clientsWithin(pool, operator.scope),
      };
      const { limit, start, cursorOf } = pagingOf(parts, "certifications", asked, CERTIFICATION_POSITION);
      const { items, next } = await listCertifications(pool, filter, start, limit);
      return { items: items.map(itemOf), nextCursor: cursorOf(next) };
    },
  );
  const one = "certifications/:certificationId";
  addQuestion(
    scope,
    reporting,
    { permission: "read-data", path: one, parameters: { since: instant() } },
    (asked) => describe(parts, asked, asked.parameters.since),
  );
  addQuestion(
    scope,
    reporting,
    { permission: "read-data", path: `${one}/report`, parameters: { since: instant() } },
    async (asked) => {
      const certification = await requireOne(parts, asked);
      const report = await reportOf(parts, certification, asked.operator, asked.parameters.since);
      const name = `certification-${certification.certificationId}.html`;
      asked.reply.header("content-disposition", `attachment; filename="${name}"`);
      return asked.reply.type("text/html; charset=utf-8").send(htmlOf(report));
    },
  );
  addChange(
    scope,
    reporting,
    { permission: "manage-certifications", path: "certifications", fields: ["clientId", "property", "days"] },
    (form) => start(parts, form),
  );
  addChange(scope, reporting, { permission: "manage-certifications", path: `${one}/end` }, (form) =>
    finish(parts, form),
  );
}
