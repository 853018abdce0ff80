/** What a deployment says about itself in the document; a `Config` has all of it but the addresses. */
export interface DocumentOptions {
  readonly limits: {
    readonly bodyBytesMax: number;
    readonly inflatedBytesMax: number;
    readonly recordsMax: number;
    readonly depthMax: number;
  };
  /** Requests a second of one client, and how many at once. */
  readonly requestRate: number;
  readonly requestBurst: number;
  readonly tokenBurst: number;
  /** Public addresses, without a trailing slash; without them the document is relative to wherever it was found. */
  readonly addresses?: { readonly baseUrl: string; readonly authUrl: string };
}
