import fastify from "fastify";
import { CONSOLE_API } from "../../src/console/guard.ts";
import type { OpenApiDocument } from "../../src/platform/http/openapi/model.ts";
import type { HttpContext } from "../../src/service/http-context.ts";
import { registerConsole } from "../../src/service/register-console.ts";
import type { AddressRules } from "../../src/webhooks/address-rules.ts";

/** An address to be flooded. */
export interface FloodedRoute {
  readonly method: string;
  readonly path: string;
  readonly isConsole: boolean;
}

const METHODS = ["get", "post", "put", "patch", "delete"];

/** Built files and made texts. */
const PAGES = ["/", "/docs", "/docs/guides/quickstart", "/console", "/openapi.json"];

/** Every operation of the document, every page, every route of the console's API, and an address that there is not. */
export async function floodedRoutes(document: OpenApiDocument): Promise<FloodedRoute[]> {
  const documented = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.keys(item as object)
      .filter((method) => METHODS.includes(method))
      .map((method) => ({ method: method.toUpperCase(), path, isConsole: false })),
  );
  const pages = PAGES.map((path) => ({ method: "GET", path, isConsole: false }));
  const nowhere = { method: "POST", path: "/nowhere", isConsole: false };
  return [...documented, ...(await consoleRoutes()), ...pages, nowhere];
}

/** The table as the service makes it: registering reads nothing of what the routes work with. */
export async function consoleRoutes(): Promise<(FloodedRoute & { readonly permission: string })[]> {
  const app = fastify();
  const routes: (FloodedRoute & { readonly permission: string })[] = [];
  app.addHook("onRoute", ({ method, url, config }) => {
    if (!url.startsWith(CONSOLE_API)) return;
    for (const one of [method].flat()) {
      if (one !== "HEAD")
        routes.push({
          method: one,
          path: url.replaceAll(/:(\w+)/g, "{$1}"),
          isConsole: true,
          permission: config?.permission ?? "",
        });
    }
  });
  await registerConsole(app, {} as HttpContext, {
    internals: {} as never,
    addresses: () => ({ baseUrl: "http://127.0.0.1" }),
    logins: undefined as never,
    webhookRules: {} as AddressRules,
    isMailConfigured: false,
  });
  await app.close();
  return routes;
}
