// Types only, from modules without Node: the console compiles them for the browser.

export interface ErrorAnswer {
  readonly timestamp: string;
  readonly status: number;
  readonly error: string;
  /** A stable code, such as `bellhop.console.NotLoggedIn`. */
  readonly exception: string;
  readonly message: string;
}

/** A page may be empty and still have a next one. */
export interface Page<Item> {
  readonly items: readonly Item[];
  readonly nextCursor: string | null;
}
