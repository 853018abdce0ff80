/** The values of a deployment that the document states. A `Config` has all but the addresses. */
export interface DocumentOptions {
  readonly limits: {
    readonly bodyBytesMax: number;
    readonly inflatedBytesMax: number;
    readonly recordsMax: number;
    readonly depthMax: number;
  };
  /** Requests per second of one client, and its burst. */
  readonly requestRate: number;
  readonly requestBurst: number;
  readonly tokenBurst: number;
  /** Public addresses without a trailing slash. Without them, addresses in the document are relative. */
  readonly addresses?: { readonly baseUrl: string; readonly authUrl: string };
}
