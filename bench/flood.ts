import { hotelCode } from "./batches.ts";
import { HttpConnection } from "./http-connection.ts";
import { contentText, keyText, recordTemplates, SLOTS } from "./record-templates.ts";
import { Sender, type Target } from "./sender.ts";

/** The service's default limits: 16 MiB on the wire, 10,000 records. */
const BODY_BYTES_MAX = 16_777_216;
const RECORDS_MAX = 10_000;
const HOST = "127.0.0.1";

export interface FloodOrder {
  readonly target: Target;
  /** Number of bodies of the maximum size, sent at once over separate connections. */
  readonly bodies: number;
  readonly hotel: number;
}

/** Responses by status; `closed` without a response. */
export type FloodAnswers = Readonly<Record<string, number>>;

function greatestBody(hotel: number): Buffer {
  const templates = recordTemplates("reservations");
  const records: string[] = [];
  let bytes = 2;
  for (let number = 0; number < RECORDS_MAX; number += 1) {
    const record = (templates[number % templates.length] as string)
      .replace(SLOTS.property, hotelCode(hotel))
      .replace(SLOTS.key.reservations, keyText("reservations", number))
      .replace(SLOTS.content.reservations, contentText("reservations", number));
    bytes += Buffer.byteLength(record) + 1;
    if (bytes > BODY_BYTES_MAX) break;
    records.push(record);
  }
  return Buffer.from(`[${records.join(",")}]`);
}

/** Sends the bodies and waits for all responses. */
export async function flood({ target, bodies, hotel }: FloodOrder): Promise<FloodAnswers> {
  const body = greatestBody(hotel);
  const answers: Record<string, number> = {};
  const connections = await Promise.all(
    Array.from({ length: bodies }, () => HttpConnection.open(HOST, target.port)),
  );
  await Promise.all(
    connections.map(
      (connection) =>
        new Promise<void>((resolve) => {
          new Sender(connection, HOST, target).send(body, (error, status) => {
            const answer = error === undefined ? String(status) : "closed";
            answers[answer] = (answers[answer] ?? 0) + 1;
            resolve();
          });
        }),
    ),
  );
  for (const connection of connections) connection.close();
  return answers;
}
