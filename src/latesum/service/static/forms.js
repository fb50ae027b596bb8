// Sends the forms of the pages to the service's interface for programs, and shows what it answers.
"use strict";

const kinds = {
  xlsx: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
  parquet: "application/vnd.apache.parquet",
  pq: "application/vnd.apache.parquet",
};
const mostRows = 500; // of verdicts in a page

async function send(method, address, body, headers = {}) {
  const json = !(body instanceof Blob);
  const answer = await fetch(address, {
    method,
    cache: "no-store",
    headers: { "X-Latesum-Page": "1", ...(json ? { "Content-Type": "application/json" } : {}), ...headers },
    body: json && body !== undefined ? JSON.stringify(body) : body,
  });
  if (answer.status === 401) location.assign("/");
  const text = await answer.text();
  const found = text ? JSON.parse(text) : {};
  return { ok: answer.ok, status: answer.status, found };
}

// What was refused, in a sentence, where a form does several things.
class Refusal extends Error {}

function kindOf(file) {
  return kinds[file.name.split(".").pop().toLowerCase()] ?? "text/csv";
}

// Runs what a form does, with its button off meanwhile, and shows what went wrong.
function onSubmit(form, work) {
  const problem = form.querySelector(".problem");
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const buttons = form.querySelectorAll("button");
    buttons.forEach((each) => (each.disabled = true));
    problem.textContent = "";
    try {
      await work(form, (sentence) => (problem.textContent = sentence));
    } catch (error) {
      problem.textContent = error instanceof Refusal ? error.message : "The service does not answer; try again.";
    }
    buttons.forEach((each) => (each.disabled = false));
  });
}

function element(tag, text, className) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

function sentence(found) {
  const details = (found.details ?? []).filter((each) => each !== found.error);
  return [found.error, ...details.slice(0, 5)].join(" ");
}

function hours(value) {
  const [number, unit] = value < 48 ? [Math.round(value), "hour"] : [Math.round(value / 24), "day"];
  return `${number} ${unit}${number === 1 ? "" : "s"}`;
}

// The verdict of other inputs is marked, and cannot be set up.
function markOutdated(form, verdict, after) {
  form.addEventListener("input", () => {
    if (!verdict.firstElementChild || verdict.querySelector(".outdated")) return;
    after.hidden = true;
    verdict.prepend(element("p", "This is the answer to other inputs; simulate again.", "soft outdated"));
  });
}

function setUpPlan(form) {
  const verdict = document.getElementById("verdict");
  const after = document.getElementById("after-plan");
  markOutdated(form, verdict, after);
  onSubmit(form, async (_, refuse) => {
    const at = (name) => Number(form.elements[name].value);
    const question = {
      options: at("options"),
      rate: at("rate") / 100,
      lift: `${at("lift")}%`,
      traffic: `${at("traffic")} per day`,
      late: form.elements.late.value.trim(),
      run_for: form.elements.run_for.value.trim(),
      bucket: form.elements.bucket.value,
    };
    if (form.elements.status_quo.value) question.status_quo = form.elements.status_quo.value;
    after.hidden = true;
    verdict.replaceChildren(element("p", "Simulating; this takes some seconds …", "soft"));
    const { ok, found } = await send("POST", "/v1/plans", question);
    verdict.replaceChildren();
    if (!ok) return refuse(sentence(found));
    showVerdict(verdict, found);
    sessionStorage.removeItem("planned");
    offerSetUp(after, found, { options: question.options, run_for: question.run_for, status_quo: question.status_quo ?? "" });
  });
}

// A history, read by the service: its rows, with its regions added up or not, or null where none was chosen.
// It throws a sentence.
async function readHistory(form, addUp = false) {
  const file = form.elements.history?.files[0];
  if (!file) return null;
  const asked = new URLSearchParams();
  for (const name of ["columns", "decimal", "date_format"]) {
    const value = form.elements[name].value.trim();
    if (value) asked.set(name, value);
  }
  if (addUp) asked.set("add_up", true);
  const { ok, found } = await send("POST", `/v1/histories?${asked}`, file, { "Content-Type": kindOf(file) });
  if (!ok) throw new Refusal(`${file.name}: ${sentence(found)}`);
  return found;
}

function inShort(history) {
  const where = history.regions.length ? `, in ${history.regions.join(", ")}` : "";
  return [`${history.rows.length} rows, ${history.first} to ${history.last}${where}.`, ...history.notes].join(" ");
}

function setUpRegionPlan(form) {
  const verdict = document.getElementById("verdict");
  const after = document.getElementById("after-plan");
  markOutdated(form, verdict, after);
  onSubmit(form, async (_, refuse) => {
    after.hidden = true;
    verdict.replaceChildren();
    const history = await readHistory(form);
    document.getElementById("history-read").textContent = inShort(history);
    if (history.regions.length < 2) return refuse("The file has no column region with two or more regions in it.");
    const late = form.elements.late.value.trim();
    const isMean = /^[0-9.,]+ [a-z]+$/i.test(late);
    const question = {
      options: Number(form.elements.options.value),
      regions: history.regions.length,
      lift: `${Number(form.elements.lift.value)}%`,
      late: form.elements.sure.checked || !isMean ? late : `about ${late}`,
      run_for: form.elements.run_for.value.trim(),
      history: history.rows,
    };
    verdict.replaceChildren(element("p", "Simulating; this takes half a minute …", "soft"));
    const { ok, found } = await send("POST", "/v1/plans", question);
    verdict.replaceChildren();
    if (!ok) return refuse(sentence(found));
    showVerdict(verdict, found);
    const { n_regions: count, regions } = found.recommendation;
    sessionStorage.setItem("planned", JSON.stringify({ history: count > 1 ? history : await readHistory(form, true), regions }));
    offerSetUp(after, found, { options: question.options, regions: count, run_for: question.run_for, status_quo: "option" });
  });
}

const asPercent = (value) => (value === null ? "" : `${Math.round(100 * value)}%`);

function tableOf(label, names, rows) {
  const table = element("table");
  const head = element("tr");
  for (const name of names) {
    const cell = element("th", name);
    cell.scope = "col";
    head.append(cell);
  }
  table.append(element("thead"), element("tbody"));
  table.tHead.append(head);
  for (const [first, ...cells] of rows) {
    const line = element("tr");
    const name = element("th", first);
    name.scope = "row";
    line.append(name, ...cells.map((each) => element("td", each)));
    table.tBodies[0].append(line);
  }
  const scroll = element("div", undefined, "scroll");
  scroll.tabIndex = 0;
  scroll.setAttribute("role", "region");
  scroll.setAttribute("aria-label", label);
  scroll.append(table);
  return scroll;
}

function showVerdict(place, plan) {
  const { verdict, recommendation, assumed, policies, sensitivity } = plan;
  const chosen = policies.find((each) => each.label === recommendation.label);
  const card = element("section", undefined, "card");
  card.setAttribute("aria-label", "Verdict");
  const kind = { go: "go", "conditional go": "but" }[verdict.answer] ?? "no";
  const words = { go: "Go", "conditional go": "Conditional go", "no-go": "No-go" }[verdict.answer];
  card.append(element("p", verdict.sure ? words : `${words}, not sure`, `answer ${kind}`));
  card.append(element("p", verdict.reason));
  if (verdict.changes.length) {
    const list = element("ul");
    for (const each of verdict.changes) {
      const { low, high } = each.finds_best;
      list.append(element("li", `${each.sentence}: then ${asPercent(low)} to ${asPercent(high)} of campaigns end on a good option.`));
    }
    card.append(element("p", `What would make it work, roughly (at most ${verdict.replications} simulated campaigns each):`), list);
  }
  if (verdict.not_enough) card.append(element("p", verdict.not_enough));
  const facts = element("div", undefined, "facts");
  const fact = (title, figure, more) => {
    const box = element("div", undefined, "card");
    box.append(element("h2", title), element("p", figure, "figure"), element("p", more, "soft"));
    facts.append(box);
  };
  const well = chosen.finds_best;
  fact("Finds the best option", asPercent(well.value), `between ${asPercent(well.low)} and ${asPercent(well.high)} of campaigns like this`);
  const settled = chosen.decided_late.value;
  const never = settled === null || !Number.isFinite(settled);
  fact("Decided after at most", never ? "not in time" : hours(settled), "in 8 of 10 simulated campaigns");
  if (chosen.winner.value !== null) fact("A winner is named", asPercent(chosen.winner.value), "of campaigns, by the end");
  const gain = Math.round(chosen.gain.value);
  fact("Gain over equal split", gain.toLocaleString("en", { signDisplay: "always" }), "successes while it runs");
  card.append(facts);
  const number = (value) => Math.round(value).toLocaleString("en");
  card.append(
    element("h2", "What was simulated"),
    tableOf("What was simulated", ["Method", "Regret", "Gain over equal split", "Finds the best", "Winner named"], policies.map((each) => [
      each.label, number(each.regret.value), number(each.gain.value), asPercent(each.finds_best.value), asPercent(each.winner.value),
    ])),
  );
  if (sensitivity.length) {
    card.append(
      element("h2", "Sensitivity: if your numbers are off"),
      tableOf("Sensitivity: if your numbers are off", ["True value", "Regret", "Finds the best", "Winner named", "Still a go"], sensitivity.map((each) => [
        each.truth,
        number(each.regret.value),
        asPercent(each.finds_best.value),
        asPercent(each.winner.value),
        each.still_go === null ? "–" : `${each.still_go ? "yes" : "no"}${each.sure ? "" : "?"}`,
      ])),
    );
  }
  const details = element("details");
  details.append(element("summary", "What was assumed"));
  const list = element("ul");
  for (const each of assumed) list.append(element("li", each));
  list.append(element("li", `The method is ${recommendation.policy}, because ${recommendation.reason}.`));
  details.append(list);
  card.append(details);
  place.append(card);
  card.scrollIntoView({ block: "nearest" });
}

// Below the verdict: to the form that sets the campaign up, which a no-go does not recommend.
function offerSetUp(after, plan, more) {
  const chosen = plan.recommendation;
  const { n_arms: _n, names: _m, ...parameters } = chosen.parameters;
  const asked = new URLSearchParams({
    policy: chosen.policy,
    parameters: JSON.stringify(parameters),
    expected_rounds: chosen.bucket ?? "",
    every: chosen.every,
    ...more,
  });
  const no = plan.verdict.answer === "no-go";
  if (no) asked.set("no_go", plan.verdict.reason);
  const link = document.getElementById("set-up");
  link.href = `/new?${asked}`;
  link.classList.toggle("main", !no);
  link.textContent = no ? "Set it up all the same" : "Set up this campaign";
  after.hidden = false;
}

const inLines = (text) => text.split("\n").map((each) => each.trim()).filter(Boolean);

function setUpNew(form) {
  const at = (name) => form.elements[name]?.value.trim() ?? "";
  const regions = () => inLines(at("regions"));
  const read = document.getElementById("history-read");
  const planned = at("policy") ? JSON.parse(sessionStorage.getItem("planned") ?? "null") : null;
  const showParts = () => {
    for (const each of form.querySelectorAll("[data-with]")) each.hidden = !regions().length;
    for (const each of form.querySelectorAll("[data-without]")) each.hidden = Boolean(regions().length);
  };
  if (planned) {
    if (form.elements.regions) form.elements.regions.value = planned.regions.join("\n");
    read.textContent = `As planned: ${inShort(planned.history)}`;
  }
  form.elements.regions?.addEventListener("input", showParts);
  form.elements.history?.addEventListener("change", async () => {
    const problem = form.querySelector(".problem");
    read.textContent = problem.textContent = "";
    try {
      const found = await readHistory(form, !form.elements.regions);
      if (found && !regions().length && form.elements.regions) form.elements.regions.value = found.regions.join("\n");
      if (found) read.textContent = inShort(found);
    } catch (error) {
      problem.textContent = error instanceof Refusal ? error.message : "The service does not answer; try again.";
    }
    showParts();
  });
  showParts();
  onSubmit(form, async (_, refuse) => {
    const options = inLines(at("options"));
    const config = {
      options,
      every: at("every"),
      expected_rounds: Number(at("expected_rounds")),
      unit: at("unit") || "successes",
      zone: at("zone") || "UTC",
      time_basis: form.elements.time_basis.value,
      status_quo: at("status_quo") === "first" ? options[0] : at("status_quo"),
      range: [Number(at("low")), Number(at("high"))],
    };
    if (regions().length) config.regions = regions();
    const history = (await readHistory(form, !regions().length)) ?? planned?.history;
    if (history) config.history = history.rows;
    if (at("start")) config.start = at("every") === "hour" ? `${at("start")} 00:00` : at("start");
    if (at("align") && !regions().length) config.align = at("align");
    if (at("completeness")) config.completeness = at("completeness");
    if (at("parameters")) {
      config.policy = at("policy");
      config.parameters = JSON.parse(at("parameters"));
    } else {
      config.parameters = { horizon: at("run_for") };
      if (at("late")) config.parameters.late = at("late");
      else if (!regions().length) config.policy = "unmix-unknown-delay";
    }
    const address = `/v1/campaigns/${encodeURIComponent(at("name"))}`;
    const { ok, found } = await send("PUT", address, config);
    if (!ok) return refuse(sentence(found));
    const asked = await send("GET", `${address}/options`); // the first decision is taken
    if (!asked.ok && asked.status !== 409) return refuse(sentence(asked.found));
    location.assign(`/campaigns/${encodeURIComponent(found.name)}`);
  });
}

function setUpRecord(form) {
  // The totals that are awaited: the bucket and the region of each, the oldest first.
  let waiting = JSON.parse(form.querySelector("[data-waiting]").dataset.waiting);
  onSubmit(form, async (_, refuse) => {
    const done = form.querySelector(".done");
    done.textContent = "";
    const body = {};
    for (const name of ["rounds", "total"]) {
      if (form.elements[name].value !== "") body[name] = Number(form.elements[name].value);
    }
    for (const name of ["status", "shown"]) {
      if (form.elements[name].value.trim()) body[name] = form.elements[name].value.trim();
    }
    for (const name of ["overwrite_final", "allow_out_of_range"]) {
      if (form.elements[name].checked) body[name] = true;
    }
    const bucket = encodeURIComponent(form.elements.bucket.value.trim());
    const region = form.elements.region?.value ?? "";
    const within = region ? `?region=${encodeURIComponent(region)}` : "";
    const address = `/v1/campaigns/${encodeURIComponent(form.dataset.campaign)}/buckets/${bucket}${within}`;
    const { ok, found } = await send("PUT", address, body);
    if (!ok) return refuse(sentence(found));
    done.textContent = `${found.label}${region ? ` in ${region}` : ""}: ${found.verdict}. ${found.note}`;
    for (const name of ["bucket", "rounds", "total", "shown"]) form.elements[name].value = "";
    waiting = waiting.filter(([label, where]) => label !== found.label || where !== region);
    const labels = [...new Set(waiting.map(([label]) => label))];
    form.querySelector("#waiting").replaceChildren(...labels.map((label) => new Option("", label)));
    if (waiting.length) {
      form.elements.bucket.value = waiting[0][0];
      if (region) form.elements.region.value = waiting[0][1];
    }
    (waiting.length && region ? form.elements.rounds : form.elements.bucket).focus();
  });
}

function setUpUpload(form) {
  const store = document.getElementById("store");
  const done = form.querySelector(".done");
  const problem = form.querySelector(".problem");
  const verdicts = document.getElementById("verdicts");
  const forget = () => {
    store.hidden = true;
    done.textContent = problem.textContent = "";
    verdicts.replaceChildren();
  };
  form.addEventListener("input", forget);

  async function upload(dryRun) {
    const file = form.elements.file.files[0];
    const asked = new URLSearchParams({ dry_run: dryRun });
    for (const name of ["columns", "date_format", "decimal", "sheet"]) {
      asked.set(name, form.elements[name].value.trim()); // an empty one is said too: as it looks
    }
    for (const name of ["skip_unknown", "overwrite_final", "allow_out_of_range"]) {
      if (form.elements[name].checked) asked.set(name, "true");
    }
    asked.set("add_up", form.elements.add_up.checked);
    const kind = kindOf(file);
    const address = `/v1/campaigns/${encodeURIComponent(form.dataset.campaign)}/totals?${asked}`;
    return send("POST", address, file, { "Content-Type": kind });
  }

  onSubmit(form, async (_, refuse) => {
    forget();
    const { ok, found } = await upload(true);
    if (!ok) {
      form.querySelector("details").open = true; // most refusals name a field that is in it
      return refuse(sentence(found));
    }
    const stops = showVerdicts(verdicts, found, form.elements);
    if (stops) return refuse(`${stops} of ${found.rows.length} rows stand in the way, so nothing can be stored.`);
    done.textContent = `${found.rows.length} rows were checked and can be stored. Nothing is stored yet.`;
    store.hidden = false;
  });
  store.addEventListener("click", async () => {
    store.disabled = true;
    problem.textContent = "";
    try {
      const { ok, found } = await upload(false);
      if (ok) {
        done.textContent = `${found.rows.length} rows are stored.`;
        store.hidden = true;
      } else {
        done.textContent = "";
        problem.textContent = sentence(found);
      }
    } catch {
      problem.textContent = "The service does not answer; try again.";
    }
    store.disabled = false;
  });
}

const figure = (value) => (value === null ? "" : value.toLocaleString("en"));

// What a row replaces, in words.
function was(row) {
  const old = [
    row.was_rounds === null ? "" : `${figure(row.was_rounds)} visitors`,
    figure(row.was_total),
    row.was_shown ?? "",
  ].filter(Boolean);
  return old.length ? `was ${old.join(", ")}` : "";
}

// A table of what each row would do; returns how many stand in the way.
function showVerdicts(place, found, allowed) {
  const stopping = (row) =>
    row.verdict === "conflicting" || (row.verdict === "unknown bucket" && !allowed.skip_unknown.checked);
  const counts = new Map();
  for (const row of found.rows) counts.set(row.verdict, (counts.get(row.verdict) ?? 0) + 1);
  const said = [...counts].map(([verdict, count]) => `${count} ${verdict}`).join(", ");
  place.append(element("p", `${said}.`));
  for (const note of found.notes) place.append(element("p", note, "soft"));
  if (found.ignored.length) {
    place.append(element("p", `Columns that are not used: ${found.ignored.join(", ")}.`, "soft"));
  }
  const table = element("table");
  const head = element("tr");
  const regional = found.rows.some((row) => row.region);
  const figures = ["Row", "Visitors", "Total"];
  for (const name of ["Row", "Day", ...(regional ? ["Region"] : []), "Visitors", "Total", "Shown", "Verdict", "Note"]) {
    const cell = element("th", name, figures.includes(name) ? "" : "place");
    cell.scope = "col";
    head.append(cell);
  }
  table.append(element("thead"), element("tbody"));
  table.tHead.append(head);
  // Rows that stand in the way come first.
  const rows = [...found.rows].sort((one, other) => stopping(other) - stopping(one));
  for (const row of rows.slice(0, mostRows)) {
    const line = element("tr");
    line.append(
      element("td", row.row),
      element("td", row.label, "place"),
      ...(regional ? [element("td", row.region, "place")] : []),
      element("td", figure(row.rounds)),
      element("td", figure(row.total)),
      element("td", row.shown, "place"),
      element("td", row.verdict, `place ${stopping(row) ? "bad" : row.verdict === "same" ? "" : "good"}`),
      element("td", [was(row), row.note, ...row.marks].filter(Boolean).join("; "), "place why"),
    );
    table.tBodies[0].append(line);
  }
  const scroll = element("div", undefined, "scroll");
  scroll.tabIndex = 0;
  scroll.setAttribute("role", "region");
  scroll.setAttribute("aria-label", "Verdicts of the rows");
  scroll.append(table);
  place.append(scroll);
  if (rows.length > mostRows) place.append(element("p", `These are ${mostRows} of ${rows.length} rows.`, "soft"));
  return rows.filter(stopping).length;
}

function setUpToken(form) {
  onSubmit(form, async (_, refuse) => {
    const made = document.getElementById("token-made");
    made.replaceChildren();
    const body = { name: form.elements.name.value, scope: form.elements.scope.value };
    const { ok, found } = await send("POST", "/v1/tokens", body);
    if (!ok) return refuse(sentence(found));
    made.append(`The token of ${found.name}, which is shown only once: `, element("code", found.secret));
    form.elements.name.value = "";
  });
}

function setUpWebhook(form) {
  onSubmit(form, async (_, refuse) => {
    const made = document.getElementById("webhook-made");
    made.replaceChildren();
    const body = {};
    for (const name of ["name", "address"]) body[name] = form.elements[name].value.trim();
    const { ok, found } = await send("POST", "/v1/webhooks", body);
    if (!ok) return refuse(sentence(found));
    made.append(`Alerts are sent to ${found.name}. The secret that signs them, shown only once: `, element("code", found.secret));
    form.reset();
  });
}

// Buttons that do something at once, after a question.
function setUpButtons() {
  const dialog = document.getElementById("confirm-dialog");
  const problem = document.getElementById("admin-problem");
  for (const button of document.querySelectorAll("[data-post]")) {
    button.addEventListener("click", () => {
      document.getElementById("confirm-text").textContent = button.dataset.ask;
      dialog.returnValue = "no";
      dialog.onclose = async () => {
        if (dialog.returnValue !== "yes") return;
        const { ok, found } = await send("POST", button.dataset.post);
        if (ok) location.reload();
        else problem.textContent = sentence(found);
      };
      dialog.showModal();
    });
  }
}

const setUps = {
  "plan-form": setUpPlan,
  "region-plan-form": setUpRegionPlan,
  "new-form": setUpNew,
  "record-form": setUpRecord,
  "upload-form": setUpUpload,
  "token-form": setUpToken,
  "webhook-form": setUpWebhook,
};
for (const [id, setUp] of Object.entries(setUps)) {
  const form = document.getElementById(id);
  if (form) setUp(form);
}
if (document.getElementById("confirm-dialog")) setUpButtons();
