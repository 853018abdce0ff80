import type { Addresses } from "../auth/authenticator.ts";
import type { Config } from "../config.ts";

/** Where the service is found: as it is set, else where it listens. */
export class ListeningAddresses {
  readonly #config: Pick<Config, "host" | "baseUrl" | "authUrl">;
  base = "";
  auth = "";

  constructor(config: Pick<Config, "host" | "baseUrl" | "authUrl">) {
    this.#config = config;
  }

  /** Notes the ports of the data endpoints and of the token endpoint, as far as they are known. */
  set({ base, auth }: { readonly base?: number; readonly auth?: number }): void {
    if (base !== undefined) this.base = this.#addressOf(base);
    if (auth !== undefined) this.auth = this.#addressOf(auth);
  }

  readonly read = (): Addresses => ({
    baseUrl: this.#config.baseUrl ?? this.base,
    authUrl: this.#config.authUrl ?? this.#config.baseUrl ?? this.auth,
  });

  #addressOf(port: number): string {
    const { host } = this.#config;
    return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
  }
}
