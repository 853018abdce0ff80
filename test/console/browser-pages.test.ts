import { consoleFixture } from "./console-fixture.ts";
import { describeEveryPage } from "./every-page.ts";
import { describeFiveTasks } from "./five-tasks.ts";

const fixture = consoleFixture();
describeEveryPage(fixture);
describeFiveTasks(fixture);
