import { once } from "node:events";
import type { AddressInfo, Server } from "node:net";
import { buffer } from "node:stream/consumers";
import { SMTPServer, type SMTPServerOptions } from "smtp-server";

/** A part of a message, decoded. */
export interface MailPart {
  readonly type: string;
  readonly fileName: string | undefined;
  readonly content: Buffer;
}

/** A message as a mail server received it. */
export interface ReceivedMail {
  readonly from: string;
  readonly to: readonly string[];
  readonly raw: string;
  /** By lower-case name, unfolded. */
  readonly headers: ReadonlyMap<string, string>;
  readonly parts: readonly MailPart[];
  text(type: string): string;
}

/** A real SMTP server on a port of this machine. */
export interface MailServer {
  readonly url: string;
  readonly received: readonly ReceivedMail[];
  close(): Promise<void>;
}

function splitHead(text: string): { headers: Map<string, string>; body: string } {
  const end = text.indexOf("\r\n\r\n");
  const lines = text
    .slice(0, end)
    .replace(/\r\n[ \t]+/g, " ")
    .split("\r\n");
  const headers = lines.map((line) => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon).toLowerCase(), unencoded(line.slice(colon + 1).trim())] as const;
  });
  return { headers: new Map(headers), body: text.slice(end + 4) };
}

/** A name in one piece, or in several of RFC 2231. */
function fileNameOf(disposition: string): string | undefined {
  const pieces = [...disposition.matchAll(/filename(\*\d*\*?)?="?([^";]+)/g)].map(([, , text = ""]) => text);
  return pieces.length === 0 ? undefined : decodeURIComponent(pieces.join("").replace(/^utf-8''/i, ""));
}

/** The text of a header with encoded words of RFC 2047 (Q). */
function unencoded(header: string): string {
  return header
    .replace(/\?= =\?/g, "?==?")
    .replace(/=\?UTF-8\?Q\?([^?]*)\?=/g, (_, words: string) =>
      decode(words.replaceAll("_", " "), "quoted-printable").toString(),
    );
}

function decode(body: string, encoding: string | undefined): Buffer {
  if (encoding === "base64") return Buffer.from(body, "base64");
  if (encoding !== "quoted-printable") return Buffer.from(body);
  const bytes = body
    .replace(/=\r\n/g, "")
    .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, "latin1");
}

function partsOf(text: string): MailPart[] {
  const { headers, body } = splitHead(text);
  const type = headers.get("content-type") ?? "text/plain";
  const boundary = /boundary="([^"]+)"/.exec(type)?.[1];
  if (boundary !== undefined)
    return body
      .split(`--${boundary}`)
      .slice(1, -1)
      .flatMap((part) => partsOf(part.slice(2)));
  const fileName = fileNameOf(headers.get("content-disposition") ?? "");
  const content = decode(body, headers.get("content-transfer-encoding"));
  return [{ type: type.split(";")[0] ?? "", fileName, content }];
}

function readMail(raw: string, from: string, to: readonly string[]): ReceivedMail {
  const parts = partsOf(raw);
  return {
    from,
    to,
    raw,
    headers: splitHead(raw).headers,
    parts,
    text: (type) => parts.find((part) => part.type === type)?.content.toString() ?? "",
  };
}

/** Starts a mail server. `accept` runs before it confirms a message; what it throws is the refusal. */
export async function startMailServer(
  options: SMTPServerOptions = {},
  accept: (mail: ReceivedMail) => Promise<void> = async () => undefined,
): Promise<MailServer> {
  const received: ReceivedMail[] = [];
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS"],
    logger: false,
    onData(stream, { envelope }, done) {
      const taken = async () => {
        const from = envelope.mailFrom === false ? "" : envelope.mailFrom.address;
        const to = envelope.rcptTo.map(({ address }) => address);
        const mail = readMail((await buffer(stream)).toString(), from, to);
        received.push(mail);
        await accept(mail);
      };
      taken().then(
        () => done(),
        (error: Error) => done(error),
      );
    },
    ...options,
  });
  server.on("error", () => undefined);
  const listening = server.listen(0, "127.0.0.1") as Server;
  await once(listening, "listening");
  const { port } = listening.address() as AddressInfo;
  return {
    url: `smtp://127.0.0.1:${port}`,
    received,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
