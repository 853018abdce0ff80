import { consoleFixture } from "./console-fixture.ts";
import { describeOperator } from "./operator.ts";
import { describeRoles } from "./roles.ts";

const fixture = consoleFixture();
describeRoles(fixture);
describeOperator(fixture);
