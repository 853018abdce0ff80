/** Errors of the OAuth endpoints (RFC 6749 section 5.2) with their statuses. */
export const OAUTH_ERRORS = {
  invalid_request: 400,
  invalid_scope: 400,
  unauthorized_client: 400,
  unsupported_grant_type: 400,
  invalid_client: 401,
  temporarily_unavailable: 429,
} as const;

export type OAuthErrorCode = keyof typeof OAUTH_ERRORS;

export interface OAuthErrorOptions {
  /** Replaces the code's status where HTTP has a more specific one (413, 415, 503). */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly cause?: unknown;
}

/** An error sent as `{"error","error_description"}`. The description is public and contains no input. */
export class OAuthError extends Error {
  readonly code: OAuthErrorCode;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: OAuthErrorCode, description: string, options: OAuthErrorOptions = {}) {
    super(description, { cause: options.cause });
    this.name = "OAuthError";
    this.code = code;
    this.status = options.status ?? OAUTH_ERRORS[code];
    this.headers = options.headers ?? {};
  }
}
