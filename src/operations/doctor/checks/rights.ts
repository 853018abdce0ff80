import { countText } from "../../../cli/amounts.ts";
import { readStatement } from "../../../platform/db/statement.ts";
import { type Check, type Finding, fine, trouble } from "../finding.ts";
import type { DatabaseSubject } from "../subject.ts";

const READ_RIGHTS = readStatement(new URL("../sql/read-rights.sql", import.meta.url));

interface Rights {
  readonly role: string;
  readonly mayCreate: boolean;
  readonly seesAll: boolean;
  readonly endsAll: boolean;
  readonly foreign: number;
  readonly roles: number;
}

function ownershipFinding({ role, mayCreate, foreign }: Rights): Finding {
  const id = "rights.schema";
  if (!mayCreate)
    return trouble("fail", id, {
      says: `The role ${role} may not create schemas in this database.`,
      means: "The first start, a replay and some migrations fail.",
      advice: `grant create on database … to ${role}.`,
    });
  if (foreign > 0)
    return trouble("fail", id, {
      says: `${countText(foreign, "table or view", "tables and views")} of the service do not belong to the role ${role}.`,
      means: "Migrations cannot change them, and partitions cannot be made.",
      advice: `reassign owned by … to ${role} (in this database), and start all nodes with one role.`,
    });
  return fine(id, `The role ${role} owns what the service made, and may make more.`);
}

/** What the role of the service may do. */
export const rights: Check<DatabaseSubject> = {
  name: "rights",
  async run({ database }) {
    const { rows } = await database.pool.query<Rights>(READ_RIGHTS);
    const [found] = rows;
    if (found === undefined) throw new Error("The database does not say who asks.");
    const findings = [ownershipFinding(found)];
    const isBlind = !(found.seesAll && found.endsAll);
    if (!isBlind || database.embedded || found.roles < 2)
      findings.push(fine("rights.sessions", "Nodes see each other's sessions."));
    else
      findings.push(
        trouble("warn", "rights.sessions", {
          says: `${found.roles} roles use this database, and ${found.role} sees the sessions of its own alone.`,
          means: "A node that hangs is not taken over from by nodes of another role.",
          advice: `grant pg_monitor, pg_signal_backend to ${found.role}, or start all nodes with one role.`,
        }),
      );
    return findings;
  },
};
