import { prefersText } from "./header-parameters.ts";

/** The 202 of a batch (spec section 4): its id, as JSON or, for who would rather have that, as text. */
export interface AcceptedAnswer {
  readonly location: string;
  readonly type: string;
  readonly body: string;
}

/** `accept` is the request's Accept header. */
export function acceptedAnswer(accept: string | undefined, requestId: string): AcceptedAnswer {
  const location = `/api/public/v1/requests/${requestId}`;
  return prefersText(accept, "text/plain")
    ? { location, type: "text/plain; charset=utf-8", body: requestId }
    : { location, type: "application/json; charset=utf-8", body: `{"requestId":"${requestId}"}` };
}
