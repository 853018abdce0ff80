/** Which part of which batch: a row of the log. */
export interface PartName {
  readonly bucket: number;
  /** A UUID. */
  readonly requestId: string;
}

/** What is stored of a part's records: as `packBody` packed them, or as `sealBody` then sealed that. */
export interface StoredBody {
  readonly layout: Buffer;
  readonly body: Buffer;
}
