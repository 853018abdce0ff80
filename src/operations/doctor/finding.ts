/** How bad it is: `warn` works today and should be changed, `fail` does not work, or puts what was accepted or is secret at risk. */
export type Health = "ok" | "warn" | "fail";

/** What a check has to say of one thing. */
export interface Finding {
  /** `area.thing`, such as `database.durability`: stays as it is, so that programs may go by it. */
  readonly id: string;
  readonly health: Health;
  /** What is so, with its figures; one sentence. */
  readonly says: string;
  /** What follows from it, where it is not ok. */
  readonly means?: string;
  /** What to do about it, where it is not ok. */
  readonly advice?: string;
}

/** Something that is as it should be. */
export function fine(id: string, says: string): Finding {
  return { id, health: "ok", says };
}

/** Something that is not as it should be: never without what it means and what to do. */
export function trouble(
  health: Exclude<Health, "ok">,
  id: string,
  told: { readonly says: string; readonly means: string; readonly advice: string },
): Finding {
  return { id, health, ...told };
}

/** The worst of them. */
export function worstOf(findings: readonly Finding[]): Health {
  if (findings.some(({ health }) => health === "fail")) return "fail";
  return findings.some(({ health }) => health === "warn") ? "warn" : "ok";
}

/** A look at one thing. It changes nothing; what it throws is told as a finding of its own (examine.ts). */
export interface Check<Subject> {
  /** The area of its findings' ids. */
  readonly name: string;
  run(subject: Subject): Promise<readonly Finding[]> | readonly Finding[];
}
