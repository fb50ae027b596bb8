// Keeps the page up to date without reloading it, and asks why before an operator acts.
"use strict";

const live = document.getElementById("live");
const seen = new Map(); // the newest text of each part, so that only what changed is replaced
let tag = null;
let said = null;
let looking = null; // the look that is in progress
let acting = false; // then there is no new look: the campaign may be gone before it is answered

function takeIn(html) {
  const fresh = new DOMParser().parseFromString(html, "text/html");
  const ids = [];
  for (const part of fresh.querySelectorAll("section[id]")) {
    ids.push(part.id);
    const text = part.outerHTML;
    if (seen.get(part.id) === text) continue;
    const old = document.getElementById(part.id);
    if (old?.querySelector(":popover-open")) continue; // someone reads what a term means
    seen.set(part.id, text);
    if (old) replace(old, part);
    else live.append(part);
  }
  for (const old of [...live.querySelectorAll(":scope > section[id]")]) {
    if (!ids.includes(old.id)) old.remove();
  }
  afterwards();
}

// What a person has opened, scrolled to or focused stays as it is.
function replace(old, part) {
  const open = [...old.querySelectorAll("details[open]")].map((each) => each.id);
  const places = [...old.querySelectorAll(".scroll")].map((each) => each.scrollLeft);
  const focusable = "a, button, summary, [tabindex]";
  const focused = [...old.querySelectorAll(focusable)].indexOf(document.activeElement);
  old.replaceWith(part);
  for (const id of open) document.getElementById(id)?.setAttribute("open", "");
  part.querySelectorAll(".scroll").forEach((each, index) => {
    each.scrollLeft = places[index] ?? 0;
  });
  if (focused >= 0) part.querySelectorAll(focusable)[focused]?.focus({ preventScroll: true });
}

function afterwards() {
  const now = document.getElementById("now");
  if (!now) return;
  // Regions may be in other states than the campaign: one of them paused, say.
  const states = now.dataset.states.split(" ");
  for (const button of document.querySelectorAll("[data-action]")) {
    button.hidden = !button.dataset.when.split(" ").some((each) => states.includes(each));
    const none = !offered().some(([, removed, where]) => removed || where.length);
    if (button.dataset.action === "restore-option" && none) button.hidden = true;
  }
  if (now.dataset.say !== said) {
    if (said !== null) document.getElementById("announce").textContent = now.dataset.say;
    said = now.dataset.say;
  }
}

// The options as the newest status has them, each with whether it was removed, and in which regions.
function offered() {
  return JSON.parse(document.getElementById("now")?.dataset.options ?? "[]");
}

async function refresh() {
  const offline = document.getElementById("offline");
  try {
    const headers = tag ? { "If-None-Match": tag } : {};
    const answer = await fetch(live.dataset.from, { headers, cache: "no-store" });
    if (answer.status === 401) return location.reload();
    if (answer.status === 200) {
      tag = answer.headers.get("etag");
      takeIn(await answer.text());
    }
    offline.hidden = answer.ok || answer.status === 304;
  } catch {
    offline.hidden = false;
  }
}

async function keepUp() {
  const every = Number(document.body.dataset.every) * 1000;
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, every));
    if (!document.hidden && !acting) await (looking = refresh());
  }
}

const actions = {
  pause: ["Pause the campaign", "The present option stays until it is resumed.", "Pause"],
  resume: ["Resume", "The method decides again. A pin goes on after a pause.", "Resume"],
  pin: ["Pin an option", "Show it for some time, whatever the method says.", "Pin"],
  unpin: ["End the pin", "The method decides again; a pause goes on.", "End it"],
  "add-option": ["Add an option", "It is shown next.", "Add"],
  "remove-option": ["Remove an option", "It is not shown again until it is restored.", "Remove"],
  "restore-option": ["Restore an option", "It is a candidate again.", "Restore"],
  "rename-option": ["Rename an option", "Nothing else changes.", "Rename"],
  change: ["Change the configuration", "From the next decision on; all that is known is used again.", "Change"],
  delete: [
    "Delete the campaign",
    "Its whole log is deleted, and that cannot be undone. Type its name to confirm.",
    "Delete it",
  ],
  finish: ["Finish the campaign", "From now on one option is shown.", "Finish"],
  reopen: ["Reopen the campaign", "The method decides again, from the next decision on.", "Reopen"],
};

const choosing = ["pin", "remove-option", "restore-option", "finish", "rename-option"];
const regional = ["pause", "resume", "pin", "unpin", "remove-option", "restore-option"]; // in all regions or in one
const naming = { "add-option": "Its name", "rename-option": "Its new name", delete: "The campaign's name" };

// The options that an action can be about: those that were removed can only be restored.
function fillIn(select, action) {
  for (const old of [...select.options].slice(1)) old.remove();
  for (const [name, gone, where] of offered()) {
    const wanted = action === "restore-option" ? gone || where.length : !gone;
    if (wanted) select.add(new Option(name));
  }
}

// What was filled in of the config that can be changed.
function changed(fields) {
  const config = {};
  if (fields.expected_rounds.value) config.expected_rounds = Number(fields.expected_rounds.value);
  if (fields.align?.value) config.align = fields.align.value === "none" ? null : fields.align.value;
  const parameters = {};
  for (const name of ["horizon", "mean_delay", "late"]) {
    if (fields[name]?.value.trim()) parameters[name] = fields[name].value.trim();
  }
  if (Object.keys(parameters).length) config.parameters = parameters;
  return config;
}

function newKey() {
  const numbers = crypto.getRandomValues(new Uint32Array(4));
  return [...numbers].map((each) => each.toString(16).padStart(8, "0")).join("");
}

function setUpActions() {
  const dialog = document.getElementById("dialog");
  if (!dialog) return;
  const form = document.getElementById("action-form");
  const problem = document.getElementById("problem");
  const confirm = document.getElementById("confirm");
  let action = null;
  let key = null;
  for (const button of document.querySelectorAll("[data-action]")) {
    button.addEventListener("click", () => {
      action = button.dataset.action;
      key = newKey(); // the same if it has to be sent again, so that it is done once
      const [title, text, name] = actions[action];
      document.getElementById("dialog-title").textContent = title;
      document.getElementById("dialog-text").textContent = text;
      confirm.textContent = name;
      problem.textContent = "";
      form.reset();
      const chooses = choosing.includes(action);
      fillIn(form.elements.option, action);
      const regions = document.getElementById("region-field");
      if (regions) regions.hidden = !regional.includes(action);
      document.getElementById("name-field").hidden = !(action in naming);
      document.getElementById("name-label").textContent = naming[action] ?? "";
      document.getElementById("change-field").hidden = action !== "change";
      form.elements.name.required = action in naming;
      document.getElementById("option-field").hidden = !chooses;
      document.getElementById("buckets-field").hidden = action !== "pin";
      const best = document.getElementById("best-option");
      best.hidden = best.disabled = action !== "finish";
      form.elements.option.selectedIndex = action === "finish" ? 0 : 1;
      dialog.showModal();
      const first = chooses ? "option" : action in naming ? "name" : action === "change" ? "expected_rounds" : "reason";
      form.elements[first].focus();
    });
  }
  document.getElementById("cancel").addEventListener("click", () => dialog.close());
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const body = { reason: form.elements.reason.value };
    const option = form.elements.option.value;
    if (choosing.includes(action) && option) body.option = option;
    const region = form.elements.region?.value;
    if (regional.includes(action) && region) body.region = region;
    if (action === "add-option") body.option = form.elements.name.value;
    if (action === "rename-option" || action === "delete") body.name = form.elements.name.value;
    if (action === "change") body.config = changed(form.elements);
    if (action === "pin") body.buckets = Number(form.elements.buckets.value);
    confirm.disabled = acting = true;
    problem.textContent = "";
    await looking;
    try {
      const address = `/v1/campaigns/${encodeURIComponent(form.dataset.campaign)}/actions/${action}`;
      const answer = await fetch(address, {
        method: "POST",
        headers: {
          "Content-Type": "application/json",
          "Idempotency-Key": key,
          "X-Latesum-Page": "1",
        },
        body: JSON.stringify(body),
      });
      if (answer.ok && action === "delete") return location.assign("/");
      if (answer.ok) {
        await refresh(); // first, so that the next dialog offers what there is now
        dialog.close();
      } else {
        problem.textContent = (await answer.json()).error;
      }
    } catch {
      problem.textContent = "The service does not answer; try again.";
    }
    confirm.disabled = acting = false;
  });
}

// To ask what to show takes the decision, once; an application does it every day by itself.
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-decide]");
  if (!button) return;
  button.disabled = true;
  const address = `/v1/campaigns/${encodeURIComponent(button.dataset.decide)}/options`;
  const answer = await fetch(address, { cache: "no-store" });
  if (answer.ok) await refresh();
  else button.replaceWith((await answer.json()).error);
});

document.getElementById("logout").addEventListener("click", async () => {
  await fetch("/logout", { method: "POST", headers: { "X-Latesum-Page": "1" } });
  location.assign("/");
});
if (live) {
  afterwards();
  setUpActions();
  keepUp();
}
