/**
 * Sentences of audit entries. `{name}` is a member of the detail, linked if it has a page; `{name|one|many}` depends on
 * a count or boolean; `{ of client}` is omitted if the client acted itself. With `{count}`, consecutive entries that
 * differ only in time share one line.
 */
const SENTENCES: Readonly<Record<string, string>> = {
  "log-in": "logged in",
  "log-out": "logged out",
  "refuse-login": "was refused {count|a login|logins}",
  "use-recovery-code": "logged in with a recovery code",
  "turn-on-totp": "turned on authenticator codes",
  "reset-totp": "turned off the authenticator codes of {operator}",
  "create-operator": "created the operator {operator} as {role} of {grants}",
  "set-operator-rights": "changed the rights of {operator} to {role} {grants}",
  "set-operator-account": "changed the single sign-on account of {operator}",
  "set-operator-password": "set the password of {operator}",
  "enable-operator": "enabled the operator {operator}",
  "disable-operator": "disabled the operator {operator}",
  "remove-operator": "removed the operator {operator}",

  "create-subscription": "subscribed {operator} ({kind})",
  "pause-subscription": "paused a subscription of {operator}",
  "resume-subscription": "resumed a subscription of {operator}",
  "remove-subscription": "removed a subscription of {operator}",

  "create-client": "created the client {client}",
  "update-client": "changed the client {client}",
  "revoke-client": "revoked the client {client} for good",
  "rotate-secret": "rotated the secret of {client}",
  "end-secret": "ended a secret of {client}",
  "mint-token": "issued a token in the name of {client}",
  "revoke-token": "revoked a token of {client}",
  "refuse-foreign-property": "was refused {count|a request|requests} for {property}, which it is not granted",

  "release-quarantined-record": "released {count|a quarantined record|quarantined records} of {property}",
  "discard-quarantined-record": "discarded {count|a quarantined record|quarantined records} of {property}",
  "void-quarantine-decision": "found that a decision on a record of {property} had not taken effect",
  "set-setting": "set {name} of {property} to {after}",
  "unset-setting": "reset {name} of {property} from {before}",
  "map-status":
    "mapped the status {status} of {resource} of {property} as {deducts|holding rooms|holding no rooms}",
  "unmap-status": "removed the mapping of the status {status} of {resource} of {property}",

  "open-backfill": "opened {backfill}{ for client}",
  "close-backfill": "closed {backfill}{ of client}",
  "sign-backfill": "signed {backfill}{ of client}",
  "abandon-backfill": "abandoned {backfill}{ of client}",
  "open-certification": "started {certification} of {client}",
  "end-certification": "finished the certification of {client}",
  "create-webhook": "registered {webhook}{ of client}",
  "update-webhook": "changed {webhook}{ of client}",
  "pause-webhook": "paused {webhook}{ of client}",
  "resume-webhook": "resumed {webhook}{ of client}",
  "test-webhook": "sent a test event to {webhook}{ of client}",
  "redrive-webhook": "sent dead letters of {webhook}{ of client} again",
  "rotate-webhook-secret": "rotated the secret of {webhook}{ of client}",
  "remove-webhook": "removed a webhook{ of client}",

  "create-first-key": "created the first signing key",
  "rotate-key": "rotated the signing key",
  "revoke-key": "revoked the signing key {kid}",
  "rotate-pepper": "rotated the pepper",
  "retire-pepper": "retired the previous pepper",
  "rotate-payload-key": "rotated the payload key",
  "reseal-values": "encrypted stored secrets under the current key",

  "begin-erasure": "began the erasure of a guest",
  erase: "erased a guest",
  "apply-erasure-list": "applied a list of erasures",
  "export-erasures": "exported the list of erasures",
  "begin-deletion": "began the deletion of {property}",
  "delete-property": "deleted the property {property}",
  "delete-client-code": "deleted the client code {property}",
  "set-retention": "set the retention of {kind} of {property} to {term}",
  "unset-retention": "reset the retention of {kind} of {property}",
  "run-retention": "removed data past its retention",

  backup: "made a backup",
  restore: "restored a backup",
  move: "moved the database to {to}",
  "citus distribute": "distributed the tables",
  "restore-point": "created the restore point {name}",
  replay: "replayed the log",
  export: "exported to {directory}",
  "void-cursors": "voided every cursor of the change feed",
};

/** The prefixes of `what` by which the audit is filtered. */
export const AUDIT_KINDS = [
  ["", "Anything"],
  ["log-", "Logins and logouts"],
  ["refuse", "Refusals"],
  ["operator", "Operators"],
  ["client", "Clients"],
  ["secret", "Secrets"],
  ["quarantine", "Quarantine"],
  ["setting", "Settings"],
  ["status", "Status mappings"],
  ["backfill", "Backfills"],
  ["certification", "Certifications"],
  ["webhook", "Webhooks"],
  ["key", "Keys"],
  ["retention", "Retention"],
  ["eras", "Erasures"],
  ["delet", "Deletions"],
] as const;

export function sentenceOf(what: string): string {
  return SENTENCES[what] ?? what.replaceAll("-", " ");
}

export interface Placeholder {
  readonly name: string;
  /** The first for a count of one or true. */
  readonly choice: readonly [one: string, other: string] | undefined;
}

/** Splits a sentence into texts and placeholders. */
export function piecesOf(sentence: string): readonly (string | Placeholder)[] {
  return sentence.split(/(\{[^{}]*\})/).map((piece) => {
    if (!piece.startsWith("{")) return piece;
    const [name = "", one, other] = piece.slice(1, -1).split("|");
    return { name, choice: one === undefined || other === undefined ? undefined : [one, other] };
  });
}

interface Groupable {
  readonly who: string;
  readonly role: string | null;
  readonly what: string;
  readonly clientId: string | null;
  readonly detail: Readonly<Record<string, unknown>>;
}

/** Groups consecutive entries that share one line. */
export function groupEntries<Entry extends Groupable>(
  entries: readonly Entry[],
): readonly (readonly Entry[])[] {
  const groups: Entry[][] = [];
  for (const entry of entries) {
    const last = groups.at(-1);
    if (last?.[0] !== undefined && isGrouped(entry) && sameOf(entry) === sameOf(last[0])) last.push(entry);
    else groups.push([entry]);
  }
  return groups;
}

const isGrouped = ({ what }: Groupable) => sentenceOf(what).includes("{count");

function sameOf({ who, role, what, clientId, detail }: Groupable): string {
  const { clientCode, propertyCode, email, reason } = detail;
  return JSON.stringify([who, role, what, clientId, clientCode, propertyCode, email, reason]);
}
