/**
 * Every error of the console's own API, which partners never see: a stable code, its status and its public text. Errors
 * that it shares with the rest (a parameter that is not valid, say) are those of `registry.ts`.
 */
export const CONSOLE_ERRORS = {
  "bellhop.console.NotLoggedIn": { status: 401, text: "Log in first: there is no session, or it is over." },
  "bellhop.console.LoginFailed": { status: 401, text: "The name or the password is not right." },
  "bellhop.console.CodeNeeded": { status: 401, text: "Enter the code of your authenticator app." },
  "bellhop.console.CodeWrong": { status: 401, text: "The code is not right, or was used already." },
  "bellhop.console.TooManyAttempts": {
    status: 429,
    text: "Too many wrong passwords or codes for this name: wait before the next one.",
  },
  "bellhop.console.Forged": {
    status: 403,
    text: "A change has to come from a page of this console, with its token. Load the page again.",
  },
  "bellhop.console.NotAllowed": { status: 403, text: "Your role does not allow this." },
  "bellhop.console.NeedsTls": {
    status: 403,
    text: "Nobody can log in over plain http from elsewhere: put TLS in front and set BASE_URL to the https address, or use it on the machine itself.",
  },
  "bellhop.console.WrongHost": {
    status: 421,
    text: "The console answers only to the host of BASE_URL and to this machine's own names.",
  },
  "bellhop.console.NotFound": { status: 404, text: "There is no such thing." },
  "bellhop.console.Conflict": { status: 409, text: "It is not as it was: look again." },
  "bellhop.console.PayloadTooLarge": { status: 413, text: "The form is larger than the limit." },
  "bellhop.console.UnsupportedMediaType": { status: 415, text: "Send the form as application/json." },
  "bellhop.console.InvalidInput": { status: 422, text: "Something in the form is not valid." },
  "bellhop.console.Busy": { status: 503, text: "The console has too much to do at this moment." },
} as const satisfies Record<string, { status: number; text: string }>;

export type ConsoleErrorCode = keyof typeof CONSOLE_ERRORS;

/** An error of the console with a public face. */
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
