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
    } catch {
      problem.textContent = "The service does not answer; try again.";
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
  const details = found.details ?? [];
  return details.length > 1 ? [found.error, ...details.slice(0, 5)].join(" ") : found.error;
}

// Sliders whose steps are equal factors: 1, 2, 5, 10, ... are as far apart from each other.
function valueOf(input) {
  const place = Number(input.value);
  if (input.dataset.scale !== "log") return place;
  const [low, high] = [Number(input.dataset.low), Number(input.dataset.high)];
  return Number((low * (high / low) ** (place / 100)).toPrecision(2));
}

function inWords(input) {
  const value = valueOf(input);
  if (input.dataset.unit === "hours") return hours(value);
  const unit = input.dataset.unit ?? "";
  const plural = unit === "weeks" && value === 1 ? "week" : unit;
  return value.toLocaleString("en") + (plural === "%" ? "%" : plural ? ` ${plural}` : "");
}

function hours(value) {
  const [number, unit] = value < 48 ? [Math.round(value), "hour"] : [Math.round(value / 24), "day"];
  return `${number} ${unit}${number === 1 ? "" : "s"}`;
}

function setUpPlan(form) {
  for (const input of form.querySelectorAll("input[type=range]")) {
    const output = form.querySelector(`output[for="${input.id}"]`);
    const show = () => {
      output.textContent = inWords(input);
      input.setAttribute("aria-valuetext", inWords(input));
    };
    input.addEventListener("input", show);
    show();
  }
  const verdict = document.getElementById("verdict");
  const after = document.getElementById("after-plan");
  onSubmit(form, async (_, refuse) => {
    const at = (name) => valueOf(form.elements[name]);
    const question = {
      options: at("options"),
      rate: at("rate") / 100,
      lift: `${at("lift")}%`,
      traffic: `${at("traffic")} per day`,
      late: hours(at("late")),
      run_for: `${at("weeks")} weeks`,
      bucket: form.elements.bucket.value,
    };
    if (form.elements.status_quo.value) question.status_quo = form.elements.status_quo.value;
    after.hidden = true;
    verdict.replaceChildren(element("p", "Simulating; this takes some seconds …", "soft"));
    const { ok, found } = await send("POST", "/v1/plans", question);
    verdict.replaceChildren();
    if (!ok) return refuse(sentence(found));
    showVerdict(verdict, found);
    const chosen = found.plan.recommendation;
    const { n_arms: _n, names: _m, ...parameters } = chosen.parameters;
    const asked = new URLSearchParams({
      policy: chosen.policy,
      parameters: JSON.stringify(parameters),
      options: question.options,
      expected_rounds: chosen.bucket,
      every: chosen.every,
      run_for: question.run_for,
      status_quo: question.status_quo ?? "",
    });
    document.getElementById("set-up").href = `/new?${asked}`;
    after.hidden = false;
  });
}

function showVerdict(place, found) {
  const { verdict, recommendation, assumed } = found.plan;
  const card = element("section", undefined, "card");
  card.setAttribute("aria-label", "Verdict");
  const kind = { go: "go", "go, but": "but" }[verdict.answer] ?? "no";
  const words = { go: "Go", "go, but": "Go, but", "no-go": "No-go" }[verdict.answer];
  const share = `${Math.round(100 * found.ended_well.value)}%`;
  const simple = `It ended on the best option, or on one close enough, in ${share} of the simulated campaigns, and even a bad one gained.`;
  card.append(element("p", words, `answer ${kind}`));
  card.append(element("p", kind === "go" ? simple : verdict.reason));
  if (verdict.changes.length) {
    const list = element("ul");
    for (const each of verdict.changes) {
      const then = Math.round(100 * each.ended_well);
      list.append(element("li", `${each.sentence}: then ${then}% of campaigns end on a good option.`));
    }
    card.append(element("p", "What would make it work:"), list);
  }
  if (verdict.not_enough) card.append(element("p", verdict.not_enough));
  const facts = element("div", undefined, "facts");
  const fact = (title, figure, more) => {
    const box = element("div", undefined, "card");
    box.append(element("h2", title), element("p", figure, "figure"), element("p", more, "soft"));
    facts.append(box);
  };
  const percent = (value) => `${Math.round(100 * value)}%`;
  const well = found.ended_well;
  fact("Ends on a good option", percent(well.value), `between ${percent(well.low)} and ${percent(well.high)} of campaigns like this`);
  const settled = found.settled_hours.value;
  const never = settled === null || !Number.isFinite(settled);
  fact("Settled after at most", never ? "not in time" : hours(settled), "in 8 of 10 simulated campaigns");
  const gain = Math.round(found.gain.value);
  fact("Gain over an equal split", gain.toLocaleString("en", { signDisplay: "always" }), "successes while it runs");
  card.append(facts);
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

function setUpNew(form) {
  onSubmit(form, async (_, refuse) => {
    const at = (name) => form.elements[name]?.value.trim() ?? "";
    const options = at("options").split("\n").map((each) => each.trim()).filter(Boolean);
    const settings = {
      options,
      every: at("every"),
      expected_rounds: Number(at("expected_rounds")),
      unit: at("unit") || "successes",
      zone: at("zone") || "UTC",
      time_basis: form.elements.time_basis.value,
      status_quo: at("status_quo") === "first" ? options[0] : at("status_quo"),
      range: [Number(at("low")), Number(at("high"))],
    };
    if (at("start")) settings.start = at("every") === "hour" ? `${at("start")} 00:00` : at("start");
    if (at("align")) settings.align = at("align");
    if (at("fills_up")) settings.fills_up = at("fills_up");
    if (at("parameters")) {
      settings.policy = at("policy");
      settings.parameters = JSON.parse(at("parameters"));
    } else {
      settings.parameters = { horizon: at("run_for") };
      if (at("late")) settings.parameters.mean_delay = at("late");
      else settings.policy = "unmix-untold";
    }
    const address = `/v1/campaigns/${encodeURIComponent(at("name"))}`;
    const { ok, found } = await send("PUT", address, settings);
    if (!ok) return refuse(sentence(found));
    const asked = await send("GET", `${address}/option`); // the first decision is taken
    if (!asked.ok && asked.status !== 409) return refuse(sentence(asked.found));
    location.assign(`/campaigns/${encodeURIComponent(found.name)}`);
  });
}

function setUpRecord(form) {
  onSubmit(form, async (_, refuse) => {
    const done = form.querySelector(".done");
    done.textContent = "";
    const body = {};
    for (const name of ["rounds", "total"]) {
      if (form.elements[name].value !== "") body[name] = Number(form.elements[name].value);
    }
    if (form.elements.status.value) body.status = form.elements.status.value;
    for (const name of ["even_if_final", "beyond_range"]) {
      if (form.elements[name].checked) body[name] = true;
    }
    const bucket = encodeURIComponent(form.elements.bucket.value.trim());
    const address = `/v1/campaigns/${encodeURIComponent(form.dataset.campaign)}/buckets/${bucket}`;
    const { ok, found } = await send("PUT", address, body);
    if (!ok) return refuse(sentence(found));
    done.textContent = `${found.label}: ${found.verdict}. ${found.note}`;
    for (const name of ["bucket", "rounds", "total"]) form.elements[name].value = "";
    const next = [...form.querySelectorAll("#waiting option")].filter((each) => each.value !== found.label);
    form.querySelector("#waiting").replaceChildren(...next);
    if (next.length) form.elements.bucket.value = next[0].value;
    form.elements.bucket.focus();
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
    for (const name of ["preset", "columns", "date_format", "decimal", "skip_lines", "sheet"]) {
      const value = form.elements[name].value.trim();
      if (value) asked.set(name, value);
    }
    for (const name of ["skip_unknown", "even_if_final", "beyond_range"]) {
      if (form.elements[name].checked) asked.set(name, "true");
    }
    const kind = kinds[file.name.split(".").pop().toLowerCase()] ?? "text/csv";
    const address = `/v1/campaigns/${encodeURIComponent(form.dataset.campaign)}/totals?${asked}`;
    return send("POST", address, file, { "Content-Type": kind });
  }

  onSubmit(form, async (_, refuse) => {
    forget();
    const { ok, found } = await upload(true);
    if (!ok) return refuse(sentence(found));
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
  for (const name of ["Row", "Day", "Verdict", "Note"]) {
    const cell = element("th", name, name === "Row" ? "" : "place");
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
      element("td", row.verdict, `place ${stopping(row) ? "bad" : row.verdict === "same" ? "" : "good"}`),
      element("td", [row.note, ...row.marks].filter(Boolean).join("; "), "place why"),
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
    for (const name of ["name", "address", "shape"]) body[name] = form.elements[name].value.trim();
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
