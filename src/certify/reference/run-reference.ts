import { BellhopClient } from "#client";
import type { Report } from "../report.ts";
import { openIntegration, readStanding } from "./integration.ts";
import { REFERENCE_STEPS, type ReferenceStep } from "./reference-steps.ts";

/** Whom the reference integration speaks to, and as whom. */
export interface ReferenceOptions {
  readonly baseUrl: string;
  readonly authUrl?: string | undefined;
  readonly clientId: string;
  readonly clientSecret: string;
}

/**
 * Runs the checklist against a service, as the client whose certification is open there, and answers how it then stands, once
 * every record has its outcome. `told` hears of each step before it is done.
 */
export async function runReference(
  options: ReferenceOptions,
  told: (step: string) => void,
  steps: Readonly<Record<string, ReferenceStep>> = REFERENCE_STEPS,
): Promise<Report> {
  const bellhop = new BellhopClient(options);
  const integration = await openIntegration(bellhop);
  for (const [name, step] of Object.entries(steps)) {
    told(name);
    await step(integration);
  }
  for (;;) {
    const standing = await readStanding(bellhop);
    if (standing.observed.pending === 0) return standing;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}
