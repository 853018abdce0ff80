import { hash } from "node:crypto";

/** The records of a batch without their bodies: their number, and a sum of hashes that tells whether each lies at its index as sent. */
export class RecordsDigest {
  count = 0;
  #sum = 0n;

  static of(records: readonly string[]): RecordsDigest {
    const digest = new RecordsDigest();
    for (const [index, json] of records.entries()) digest.add(index, json);
    return digest;
  }

  /** In any order: the parts of a batch lie in several buckets. */
  add(index: number, json: string): void {
    this.count += 1;
    const term = hash("sha256", `${index} ${json}`, "buffer").readBigUInt64LE();
    this.#sum = BigInt.asUintN(64, this.#sum + term);
  }

  equals(other: RecordsDigest): boolean {
    return this.count === other.count && this.#sum === other.#sum;
  }
}
