/** A violation or the like, as it was told to the partner: safe to keep and to show. */
export interface ToldViolation {
  readonly pointer: string;
  readonly code: string;
  readonly message: string;
}

/** What a client under certification did on the wire that its records do not tell, by kind. */
export interface WireDetails {
  /** It took a token, which lives for so many seconds. */
  readonly token: { readonly seconds: number };
  /** It asked for a token too many and was refused. */
  readonly "token-limited": Readonly<Record<never, never>>;
  /** It sent a genuine token past its end. */
  readonly "token-expired": Readonly<Record<never, never>>;
  /** It was told to come again later: 429. */
  readonly "rate-limited": { readonly retryAfterSeconds: number };
  /** A batch was refused: 400 to 422, and 403 of a property or scope that it has not. */
  readonly refused: {
    readonly resource: string;
    readonly status: number;
    readonly code: string;
    /** The first ones. */
    readonly violations: readonly ToldViolation[];
  };
  /** The same batch came again under its Idempotency-Key and was answered with its first id. */
  readonly repeated: { readonly requestId: string };
  /** A batch was accepted that had a key, was lenient or compressed. */
  readonly sent: {
    readonly requestId: string;
    readonly keyed: boolean;
    readonly lenient: boolean;
    readonly encoding: string | null;
  };
}

export type WireKind = keyof WireDetails;

/** An event that is to be noted. */
export type WireEvent = {
  [Kind in WireKind]: { readonly kind: Kind; readonly detail: WireDetails[Kind] };
}[WireKind];

/** An event as it was noted: when, in UTC to the microsecond. */
export type NotedEvent = WireEvent & { readonly at: string };

/** The events of one kind, in their order. */
export function eventsOf<Kind extends WireKind>(
  events: readonly NotedEvent[],
  kind: Kind,
): readonly (WireDetails[Kind] & { readonly at: string })[] {
  return events.flatMap((event) =>
    event.kind === kind ? [{ ...(event.detail as WireDetails[Kind]), at: event.at }] : [],
  );
}
