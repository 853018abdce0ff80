import { randomBytes } from "node:crypto";
import type { BellhopClient } from "#client";
import { dayAfter } from "../fields.ts";
import type { Report } from "../report.ts";
import type { Hotel } from "./hotel.ts";

/** An integration that is being certified: the hotel, the client that speaks for it, and what is known of the certification. */
export interface Integration {
  readonly bellhop: BellhopClient;
  readonly hotel: Hotel;
  /** The date on which the certification was opened, UTC. */
  readonly today: string;
  /** Sets keys of this run apart from those of others of the same hotel. */
  readonly run: string;
}

/** A timestamp so many minutes ago: changes in a hotel's system lie behind, and each after the one before. */
export function minutesAgo(minutes: number): string {
  return new Date(Date.now() - minutes * 60_000).toISOString();
}

/** The date so many days after the certification was opened. */
export function inDays({ today }: Integration, days: number): string {
  return dayAfter(today, days);
}

/** How the client's own certification stands. Throws where none was opened, or the service does not say. */
export async function readStanding(bellhop: BellhopClient): Promise<Report> {
  const response = await bellhop.fetch("/api/public/v1/certification");
  if (response.status === 429) {
    await response.body?.cancel();
    await waitAsTold(response);
    return await readStanding(bellhop);
  }
  const text = await response.text();
  if (response.status !== 200) throw new Error(`The certification was answered ${response.status}: ${text}`);
  const { certification } = JSON.parse(text) as { certification: Report | null };
  if (certification === null)
    throw new Error("No certification of this client was opened (bellhop certify start --client CLIENT_ID).");
  return certification;
}

/** Waits for the seconds of a 429's `Retry-After`. */
export async function waitAsTold(response: Response): Promise<void> {
  const seconds = Number(response.headers.get("retry-after") ?? 1);
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
}

/** Begins an integration with the property that the certification names. */
export async function openIntegration(bellhop: BellhopClient): Promise<Integration> {
  const { property, openedAt } = await readStanding(bellhop);
  return { bellhop, hotel: property, today: openedAt.slice(0, 10), run: randomBytes(4).toString("hex") };
}
