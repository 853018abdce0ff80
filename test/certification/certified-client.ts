import { openCertification } from "../../src/certification/certification.ts";
import type { Report } from "../../src/certification/report.ts";
import type { TestClient, TestService } from "../support/service.ts";

/** A client of its own hotel whose certification is open, held to limits that a test meets only when it means to. */
export async function certifiedClient(
  service: TestService,
  clientCode: string,
  terms: {
    readonly requestRate?: number;
    readonly requestBurst?: number;
    readonly tokenSeconds?: number;
  } = {},
): Promise<{ client: TestClient; certificationId: string }> {
  const client = await service.newClient({ grants: [{ clientCode, propertyCode: "*" }] });
  const { certificationId } = await openCertification(
    { internals: service.service.authenticator.internals, who: "cli:test" },
    client.clientId,
    { requestRate: 4, requestBurst: 45, tokenSeconds: 900, days: 1, ...terms },
  );
  return { client, certificationId };
}

/** How the client's certification stands once every record has its outcome, by its own question, at the pace it is given. */
export async function standingOf(service: TestService, as: TestClient, query = ""): Promise<Report> {
  for (let asked = 0; asked < 100; asked += 1) {
    const answer = await service.get(`/api/public/v1/certification${query}`, { as });
    if (answer.status === 200) {
      const { certification } = answer.json() as { certification: Report };
      if (certification.observed.pending === 0) return certification;
    }
    const waitSeconds = Number(answer.headers.get("retry-after") ?? 0.5);
    await new Promise((resolve) => setTimeout(resolve, waitSeconds * 1000));
  }
  throw new Error("Some records have had no outcome for a minute.");
}

/** The steps of a report by result, for comparing. */
export function resultsOf({ steps }: Report): Record<string, string> {
  return Object.fromEntries(steps.map(({ step, result }) => [step, result]));
}
