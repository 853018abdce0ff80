/** Clients, settings, labels and the audit under `/console/api`; `contract.ts` says what holds for all of it. */

// ----------------------------------------------------------------------------------------------------------- clients

export interface Grant {
  readonly clientCode: string;
  /** `*`: every property of the client code. */
  readonly propertyCode: string;
}

/** Null follows the configuration. */
export interface ClientLimits {
  /** Requests a second. */
  readonly requestRate: number | null;
  readonly requestBurst: number | null;
  readonly tokenBurst: number | null;
}

export interface ClientItem extends ClientLimits {
  readonly clientId: string;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly createdAt: string;
  /** Set: disabled for good. */
  readonly revokedAt: string | null;
  /** To the minute. */
  readonly lastUsedAt: string | null;
  readonly grantTotal: number;
}

/** GET `clients`, oldest first, disabled ones included. Answers Page<ClientItem>. */
export interface ClientsQuery {
  /** A part of the name or id, without regard to case. */
  readonly search?: string;
  readonly limit?: number;
  readonly cursor?: string;
}

/** GET `clients/{clientId}`. 404 `bellhop.console.NotFound`. */
export interface ClientAnswer extends ClientItem {
  /** The first 1,000 of `grantTotal`. */
  readonly grants: readonly Grant[];
  readonly replyToOrigins: readonly string[];
  readonly secrets: readonly SecretItem[];
  /** Every scope that there is, for the form. */
  readonly knownScopes: readonly string[];
  /** What a new client gets where nothing else is asked for; what a null limit comes to. */
  readonly defaults: {
    readonly scopes: readonly string[];
    readonly requestRate: number;
    readonly requestBurst: number;
    readonly tokenBurst: number;
  };
}

export interface SecretItem {
  readonly slot: number;
  readonly createdAt: string;
  readonly expiresAt: string | null;
  readonly lastUsedAt: string | null;
  readonly live: boolean;
}

/** GET `client-options`: what the form for a new client offers. */
export type ClientOptionsAnswer = Pick<ClientAnswer, "knownScopes" | "defaults">;

/** POST `clients`. 422 `bellhop.console.InvalidInput` with the reason in `message`, as all forms. */
export interface CreateClientRequest extends Partial<ClientLimits> {
  readonly name: string;
  readonly scopes: readonly string[];
  readonly grants: readonly Grant[];
  readonly replyToOrigins?: readonly string[];
  /** Absent: the secret does not end by itself. */
  readonly secretExpiresSeconds?: number;
}

/** The secret is in this answer and never again. */
export interface CreateClientAnswer {
  readonly clientId: string;
  readonly clientSecret: string;
}

/** POST `clients/{clientId}/update`; what is left out stays. Answers ClientAnswer. */
export interface UpdateClientRequest extends Partial<ClientLimits> {
  readonly name?: string;
  readonly scopes?: readonly string[];
  readonly replyToOrigins?: readonly string[];
  readonly addGrants?: readonly Grant[];
  readonly removeGrants?: readonly Grant[];
}

/** POST `clients/{clientId}/rotate`. */
export interface RotateSecretRequest {
  /** How long the secret used until now stays good; absent: a day; 0: it ends at once. */
  readonly overlapSeconds?: number;
  readonly expiresSeconds?: number;
}

/** The secret is in this answer and never again. */
export interface RotateSecretAnswer {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly previousExpiresAt: string | null;
  /** A still older secret that ended now, because two are the most a client may have. */
  readonly endedCreatedAt: string | null;
}

/** POST `clients/{clientId}/end-secret`: ends one secret at once. Answers ClientAnswer. */
export interface EndSecretRequest {
  readonly slot: number;
}

/** POST `clients/{clientId}/disable` with the id typed again; for good. Answers ClientAnswer. */
export interface DisableClientRequest {
  readonly confirm: string;
}

// ---------------------------------------------------------------------------------------------------------- settings

export type SettingName =
  | "occupancyBase"
  | "timeZone"
  | "businessDayEnd"
  | "currency"
  | "personalData"
  | "cadence.inventories"
  | "cadence.reservations"
  | "cadence.groups";

export interface SettingItem {
  readonly name: SettingName;
  /** What holds, as text: "capacity", "Europe/Lisbon", "04:00", "EUR", "24". */
  readonly value: string | null;
  /** Where it comes from. */
  readonly from: "property" | "client" | "default";
}

/** GET `settings` with clientCode and, for those of one property, propertyCode. */
export interface SettingsAnswer {
  readonly clientCode: string;
  readonly propertyCode: string | null;
  /** Raised by every change of the client code's settings and label mappings. */
  readonly settingsVersion: number;
  readonly settings: readonly SettingItem[];
}

/** POST `settings/set`; `settings/unset` takes no value. Without propertyCode for the whole client code. Answers SettingsAnswer. */
export interface SettingRequest {
  readonly clientCode: string;
  readonly propertyCode?: string;
  readonly name: SettingName;
  readonly value?: string;
}

/** GET `labels`: labels in use or mapped, by resource and label. Answers LabelsAnswer. */
export interface LabelsQuery {
  readonly clientCode: string;
  /** Those that nobody has mapped alone. */
  readonly by?: "unmapped";
  readonly limit?: number;
  readonly cursor?: string;
}

/** A page of labels. */
export interface LabelsAnswer {
  readonly clientCode: string;
  readonly items: readonly LabelItem[];
  readonly nextCursor: string | null;
  /** On all pages together, whichever are asked for. */
  readonly unmapped: { readonly labels: number; readonly records: number };
}

export interface LabelItem {
  readonly resource: "reservations" | "groups";
  readonly label: string;
  /** Current records with it. */
  readonly records: number;
  /** The word of the default mapping; null where it has none. */
  readonly canonical: string | null;
  /** Whether rooms under it are on the books. */
  readonly deducts: boolean;
  readonly by: "mapping" | "default" | "unmapped";
}

/** POST `labels/set`; `labels/unset` takes no `deducts`. Answers LabelsAnswer, its first 100. */
export interface LabelRequest {
  readonly clientCode: string;
  readonly resource: "reservations" | "groups";
  readonly label: string;
  readonly deducts?: boolean;
}

// ------------------------------------------------------------------------------------------------------------- audit

/** GET `audit`, newest first. Answers Page<AuditItem>. */
export interface AuditQuery {
  readonly clientId?: string;
  /** The beginning: `console:anna`, `cli:`. */
  readonly who?: string;
  readonly limit?: number;
  readonly cursor?: string;
}

export interface AuditItem {
  readonly auditId: string;
  readonly occurredAt: string;
  /** `console:<operator>`, `cli:<user>`, `client:<client id>`, `service`. */
  readonly who: string;
  /** A verb-noun: `rotate-secret`. */
  readonly what: string;
  readonly clientId: string | null;
  readonly detail: Readonly<Record<string, unknown>>;
}
