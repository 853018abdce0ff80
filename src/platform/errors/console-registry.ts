/**
 * Errors of the console's API, which partners never see: stable code, status and public text. Errors shared with the
 * other APIs are in `registry.ts`.
 */
export const CONSOLE_ERRORS = {
  "bellhop.console.NotLoggedIn": { status: 401, text: "Log in: you have no session, or it has expired." },
  "bellhop.console.LoginFailed": { status: 401, text: "The name or password is incorrect." },
  "bellhop.console.CodeNeeded": { status: 401, text: "Enter the code from your authenticator app." },
  "bellhop.console.CodeWrong": { status: 401, text: "The code is incorrect or was already used." },
  "bellhop.console.TooManyAttempts": {
    status: 429,
    text: "Too many failed logins for this name. Wait, then try again.",
  },
  "bellhop.console.Forged": {
    status: 403,
    text: "The request lacks the token of a console page. Reload the page.",
  },
  "bellhop.console.NotAllowed": { status: 403, text: "Your role does not allow this." },
  "bellhop.console.NeedsTls": {
    status: 403,
    text: "Plain http allows logins only from the same machine. Put TLS in front of the service and set BASE_URL to its https address.",
  },
  "bellhop.console.WrongHost": {
    status: 421,
    text: "The console accepts only the host of BASE_URL and names of the local machine.",
  },
  "bellhop.console.NotFound": { status: 404, text: "Not found." },
  "bellhop.console.Conflict": { status: 409, text: "It has changed meanwhile. Reload the page." },
  "bellhop.console.PayloadTooLarge": { status: 413, text: "The form is too large." },
  "bellhop.console.UnsupportedMediaType": { status: 415, text: "Send the form as application/json." },
  "bellhop.console.InvalidInput": { status: 422, text: "The form contains an invalid value." },
  "bellhop.console.Busy": { status: 503, text: "The console is busy. Try again in a moment." },
} as const satisfies Record<string, { status: number; text: string }>;

export type ConsoleErrorCode = keyof typeof CONSOLE_ERRORS;

/** An error sent to the console. */
export class ConsoleError extends Error {
  readonly code: ConsoleErrorCode;
  readonly status: number;
  readonly retryAfterSeconds: number | undefined;

  constructor(
    code: ConsoleErrorCode,
    options: { message?: string; cause?: unknown; retryAfterSeconds?: number } = {},
  ) {
    super(options.message ?? CONSOLE_ERRORS[code].text, { cause: options.cause });
    this.name = "ConsoleError";
    this.code = code;
    this.status = CONSOLE_ERRORS[code].status;
    this.retryAfterSeconds = options.retryAfterSeconds;
  }
}
