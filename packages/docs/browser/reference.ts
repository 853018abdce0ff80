// Draws the OpenAPI document of the running service; nothing is requested from any other address.
interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
}
interface ApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}
declare const Scalar: {
  createApiReference(place: string, configuration: Readonly<Record<string, unknown>>): void;
};

const place = document.getElementById("reference") as HTMLElement;
const answer = await fetch(place.dataset["document"] ?? "");
const content = (await answer.json()) as ApiDocument;

// `#getRequest` names an operation whatever the chapter it is in.
const operations = Object.values(content.paths).flatMap((item) => Object.values(item));
const named = operations.find(({ operationId }) => `#${operationId}` === location.hash);
if (named !== undefined) {
  const chapter = (named.tags[0] ?? "").toLowerCase();
  history.replaceState(null, "", `#tag/${chapter}/${named.operationId}`);
}

Scalar.createApiReference("#reference", {
  content,
  theme: "none",
  telemetry: false,
  withDefaultFonts: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  showDeveloperTools: "never",
  documentDownloadType: "none",
  hideClientButton: true,
  hideTestRequestButton: true,
  hiddenClients: true,
  hideModels: true,
  hideSearch: true,
  hideDarkModeToggle: true,
  defaultOpenAllTags: true,
  generateOperationSlug: ({ operationId }: Operation) => operationId,
});
