import { readJson } from "./answer.ts";
import { apiPath, type Connection } from "./connection.ts";

/** What a page of 1,000 records may weigh: the service bounds it far below. */
const PAGE_BYTES_MAX = 268_435_456;

interface Page<Item> {
  readonly items: readonly Item[];
  readonly nextCursor: string | null;
}

export type Query = Readonly<Record<string, string | number | undefined>>;

/** Asks for a list page by page, and gives its items one by one (docs/reading.md, "Pages"). */
export async function* readPages<Item>(
  connection: Connection,
  path: string,
  query: Query,
  signal?: AbortSignal,
): AsyncGenerator<Item, void, undefined> {
  let cursor: string | undefined;
  do {
    const request = { path: apiPath(path, { ...query, cursor }), signal };
    const page: Page<Item> = await connection.ask(request, (response) => readJson(response, PAGE_BYTES_MAX));
    yield* page.items;
    // A short or an empty page is not the end; only a missing cursor is.
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
}
