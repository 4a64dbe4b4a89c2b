// Drives a browser for test_ui_browser.py: reads steps as JSON lines, writes the outcome of each as one.
import {readFileSync} from "node:fs";
import {createInterface} from "node:readline";
import {createRequire} from "node:module";

const [modules, executablePath, userData] = process.argv.slice(2);
const require = createRequire(`${modules}/`);
const {chromium} = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const args = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"];
const browser = await chromium.launchPersistentContext(userData, {
  executablePath,
  args: [...args, "--disable-sync", "--no-first-run"],
  viewport: {width: 720, height: 640},
  timeout: 0, // what asks for a step waits for it, and no longer than it has patience
});
browser.setDefaultTimeout(0);
let page, problems;

const steps = {
  async open({url, dark}) {
    await page?.close();
    page = await browser.newPage();
    await page.emulateMedia({colorScheme: dark ? "dark" : "light"});
    problems = [];
    page.on("console", (message) => ["error", "warning"].includes(message.type()) && problems.push(message.text()));
    page.on("pageerror", (error) => problems.push(String(error)));
    page.on("dialog", (dialog) => (problems.push(`dialog: ${dialog.message()}`), dialog.dismiss()));
    await page.goto(url);
  },
  async wait({until}) {
    // Not `waitForFunction`: the page's policy forbids what that does.
    for (let tries = 0; !(await page.evaluate(until)); tries++) {
      if (tries === 1000) throw new Error(`${until}\n${await page.evaluate("document.body.innerHTML")}`);
      await new Promise((go) => setTimeout(go, 20));
    }
  },
  reload: () => page.reload().then(() => true),
  evaluate: ({script}) => page.evaluate(script),
  hover: ({selector}) => page.hover(selector),
  move: ({x, y}) => page.mouse.move(x, y),
  press: ({key}) => page.keyboard.press(key),
  screenshot: ({path}) => page.screenshot({path}).then(() => true),
  problems: () => problems,
  async axe() {
    await page.evaluate(axe);
    const {violations} = await page.evaluate("axe.run()");
    return violations.filter(({impact}) => ["serious", "critical"].includes(impact)).map(({id, nodes}) => [id, nodes[0].html]);
  },
};

console.log(JSON.stringify({value: "ready"}));
for await (const line of createInterface({input: process.stdin})) {
  const {step, ...options} = JSON.parse(line);
  try {
    console.log(JSON.stringify({value: (await steps[step](options)) ?? null}));
  } catch (error) {
    console.log(JSON.stringify({error: String(error)}));
  }
}
await browser.close();
