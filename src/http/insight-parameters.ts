import type { FastifyRequest } from "fastify";
import { type Clock, type Grouping, NIGHTS_MAX } from "../insight/question.ts";
import { daysBetween } from "../insight/stay-date.ts";
import { DefinedParameters } from "./defined-parameters.ts";
import type { Parameter } from "./openapi/model.ts";
import { checkOrder, invalidParameter } from "./read-parameters.ts";

/** The parameters of an insight, read and checked. */
export class InsightParameters extends DefinedParameters {
  /** Throws ServiceError `bellhop.http.InvalidParameter`, which says what is wrong, for what the definitions do not take. */
  constructor(request: FastifyRequest, definitions: readonly Parameter[]) {
    super(request, definitions);
    const [from, to] = [this.textOf("from"), this.textOf("to")];
    checkOrder(from, to);
    if (from !== undefined && to !== undefined && daysBetween(from, to) >= NIGHTS_MAX)
      throw invalidParameter(
        `from and to may name ${NIGHTS_MAX} nights at most: ask for what is longer in parts, one after another.`,
      );
    const [since, asOf] = [this.textOf("since"), this.textOf("asOf")];
    if (since !== undefined && asOf !== undefined && since > asOf)
      throw invalidParameter("since must not be after asOf.");
  }

  get by(): Grouping {
    return this.givenText("by") as Grouping;
  }

  get clock(): Clock {
    return this.givenText("clock") as Clock;
  }
}
