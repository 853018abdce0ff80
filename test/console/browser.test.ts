import { consoleFixture } from "./console-fixture.ts";
import { describeCounts } from "./counts.ts";
import { describeDocumentation } from "./docs-pages.ts";
import { describeEveryPage } from "./every-page.ts";
import { describeFigures } from "./figures.ts";
import { describeFiveTasks } from "./five-tasks.ts";
import { describeFrame } from "./frame.ts";
import { describeInsights } from "./insights.ts";
import { describeOperator } from "./operator.ts";
import { describeRoles } from "./roles.ts";

// One service, one hotel and one Chromium for all that is looked at in a browser: each takes seconds to start.
const fixture = consoleFixture();
describeEveryPage(fixture);
describeInsights(fixture);
describeFigures(fixture);
describeCounts(fixture);
describeFiveTasks(fixture);
describeRoles(fixture);
describeFrame(fixture);
describeOperator(fixture);
describeDocumentation(fixture);
