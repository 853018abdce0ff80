import type { SentMessageInfo, Transporter } from "nodemailer";
import type { Config } from "../config.ts";
import { isLoopback } from "../platform/http/networks.ts";
import { asHtml, asText, type MessageContent } from "./message.ts";

type MailSettings = NonNullable<Config["mail"]>;

/** A message for one address. */
export interface Mail {
  /** The same for every attempt, so that a receiver can drop a repetition. */
  readonly messageId: string;
  readonly to: string;
  readonly content: MessageContent;
  readonly unsubscribe: string;
}

/** The server did not accept a message. */
export class MailNotSent extends Error {
  /** Whether trying again is futile. */
  readonly isPermanent: boolean;

  constructor(message: string, isPermanent: boolean, options?: ErrorOptions) {
    super(message, options);
    this.isPermanent = isPermanent;
  }
}

export interface MailTransport {
  /** Throws MailNotSent. */
  send(mail: Mail, signal: AbortSignal): Promise<void>;
  /** Connects, logs in and disconnects. Throws MailNotSent. */
  verify(): Promise<void>;
  close(): void;
}

const CONNECT_MS_MAX = 10_000;
const ANSWER_MS_MAX = 20_000;
const RESPONSE_CHARACTERS_MAX = 300;

/** A server that refuses the recipient refuses the next attempt, too; one that refuses the login may be configured meanwhile. */
const PERMANENT_COMMANDS: readonly unknown[] = ["RCPT TO", "DATA"];
const isPermanentReply = (code: unknown) => typeof code === "number" && code >= 500 && code !== 503;

/** An error without the server's secrets: nodemailer's messages have no password, but a server may quote what it got. */
function notSent(cause: unknown, secrets: readonly string[]): MailNotSent {
  const {
    message = "",
    code,
    responseCode,
    command,
  } = cause as {
    message?: string;
    code?: string;
    responseCode?: number;
    command?: string;
  };
  const text = code === "EAUTH" ? `The login was refused (${responseCode ?? "no answer"}).` : message;
  const clean = secrets.reduce((rest, secret) => rest.replaceAll(secret, "…"), text);
  const line = clean.replace(/\p{Cc}+/gu, " ").slice(0, RESPONSE_CHARACTERS_MAX);
  return new MailNotSent(
    line || "The mail server did not answer.",
    code !== "EAUTH" && isPermanentReply(responseCode) && PERMANENT_COMMANDS.includes(command),
  );
}

/** The parts of the URL that nobody must see. */
function secretsOf(url: string): string[] {
  const { username, password } = new URL(url);
  return [password, decodeURIComponent(password), username === "" ? "" : `${username}:${password}`].filter(
    (secret) => secret.length > 1,
  );
}

function optionsOf({ url }: MailSettings) {
  const { protocol, hostname, username } = new URL(url);
  return {
    url,
    pool: true as const,
    maxConnections: 2,
    // A password goes only through TLS, except to this machine.
    requireTLS: protocol === "smtp:" && username !== "" && !isLoopback(hostname),
    connectionTimeout: CONNECT_MS_MAX,
    greetingTimeout: CONNECT_MS_MAX,
    socketTimeout: ANSWER_MS_MAX,
    dnsTimeout: CONNECT_MS_MAX,
    disableFileAccess: true,
    disableUrlAccess: true,
  };
}

/** Sends over SMTP. The library is loaded with the first message. */
export function createMailTransport(settings: MailSettings): MailTransport {
  const secrets = secretsOf(settings.url);
  let opened: Promise<Transporter<SentMessageInfo>> | undefined;
  const open = () => {
    opened ??= import("nodemailer").then(({ createTransport }) => createTransport(optionsOf(settings)));
    return opened;
  };
  const orNotSent = async (work: () => Promise<unknown>) => {
    try {
      await work();
    } catch (error) {
      throw notSent(error, secrets);
    }
  };
  return {
    send: ({ messageId, to, content, unsubscribe }, signal) =>
      orNotSent(async () =>
        (await open()).sendMail({
          messageId: `<${messageId}@${settings.from.address.split("@")[1]}>`,
          from: settings.from,
          to: { name: "", address: to },
          subject: content.subject,
          text: asText(content, unsubscribe),
          html: asHtml(content, unsubscribe),
          attachments: (content.attachments ?? []).map(({ name, type, content: bytes }) => ({
            filename: name,
            contentType: type,
            content: bytes,
          })),
          headers: {
            "List-Unsubscribe": { prepared: true, value: `<${unsubscribe}>` },
            "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
            "Auto-Submitted": "auto-generated",
            "X-Auto-Response-Suppress": "All",
          },
          signal,
        }),
      ),
    verify: () => orNotSent(async () => (await open()).verify()),
    close: () => void opened?.then((transport) => transport.close()),
  };
}
