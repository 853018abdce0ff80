import { registerHooks } from "node:module";

/** Within this repository the client is not installed: programs that import it by its name are given its source. */
const CLIENT = new URL("../packages/client/src/index.ts", import.meta.url).href;

registerHooks({
  resolve: (specifier, context, nextResolve) =>
    nextResolve(specifier === "@bellhop/client" ? CLIENT : specifier, context),
});
