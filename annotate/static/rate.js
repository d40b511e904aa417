// The rating page. The server decides everything; this shows it and passes answers on.
// An answer's key survives retries, so a reply lost on the way cannot become two votes.
(() => {
  "use strict";
  const T = (window.EVENHAND || {}).strings || {};
  const t = (name, values = {}) =>
    (T[name] || name).replace(/\{(\w+)\}/g, (_, key) => (values[key] ?? "").toString());
  const API = new URL("../api/", document.baseURI.endsWith("/") ? document.baseURI : document.baseURI + "/");
  // After a new question appears, answers are ignored until the keys were quiet this long:
  // five fast presses are one answer, and nobody reads a question in less.
  const QUIET_MS = 350;
  const HEARTBEAT_MS = 60_000;
  const ASKING = ["rate", "label"];
  const CHOICES = ["left", "tie", "both_bad", "right"];
  const KEYS = { 1: "left", 2: "tie", 3: "both_bad", 4: "right", a: "left", b: "right", t: "tie", n: "both_bad",
    arrowleft: "left", arrowright: "right" };

  let root, live, state = null, busy = true, settling = false, readyTimer = 0, raw = false;
  let voteKey = "", undoKey = "", keyFor = null, activeSince = 0, activeMs = 0, progress = null, draftTimer = 0, pollTimer = 0;

  const el = (tag, attrs = {}, ...children) => {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attrs)) {
      if (name === "html") node.innerHTML = value; // only what our own renderer made
      else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
      else if (value === true) node.setAttribute(name, "");
      else if (value !== false && value != null) node.setAttribute(name, value);
    }
    node.append(...children.filter((child) => child != null));
    return node;
  };
  const find = (selector) => root.querySelector(selector);
  const newKey = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");

  async function call(path, body) {
    const options = body === undefined ? {} : {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
    let response;
    try {
      response = await fetch(new URL(path, API), { credentials: "same-origin", ...options });
    } catch {
      throw { code: "offline", message: t("offline") };
    }
    const value = await response.json().catch(() => null);
    if (!response.ok || value === null)
      throw { code: (value && value.error) || "failed", message: (value && value.message) || t("not_saved") };
    return value;
  }

  // ---- pages -------------------------------------------------------------------------
  function show(next) {
    clearTimeout(pollTimer);
    const before = state;
    state = next;
    if (next.progress) progress = next.progress;
    if (ASKING.includes(next.state)) return showScreen(next, before);
    root.dataset.state = next.state;
    root.dataset.ready = "";
    if (next.state === "consent") showConsent(next);
    else if (next.state === "declined") showDeclined();
    else if (next.state === "stopped") showStopped();
    else showEmpty(next);
    busy = false;
    root.dataset.ready = "1";
    window.scrollTo(0, 0);
  }

  // The live region stays in place: one that comes with its text is not read out.
  function fill(...nodes) {
    for (const node of [...root.children]) if (node !== live) node.remove();
    live.after(...nodes);
  }

  function page(...children) {
    fill(top(), el("main", { class: "eh-main" }, el("div", { class: "eh-page" }, ...children)));
  }

  function showConsent(next) {
    progress = null;
    page(
      el("h1", {}, next.title),
      next.notice ? el("div", { class: "eh-note" }, el("b", {}, t("notice")), el("div", { class: "eh-text", html: next.notice })) : null,
      ...[next.instructions, ...next.labelling].filter(Boolean).flatMap((text, index) =>
        [index ? null : el("h2", {}, t("instructions")), el("div", { class: "eh-text", html: text })]),
      ...(next.dimensions.length ? [el("h2", {}, t("questions_asked")),
        el("ul", { class: "eh-asked" }, ...next.dimensions.map((d) =>
          el("li", {}, el("b", {}, d.question), el("span", { class: "eh-text", html: d.rubric }))))] : []),
      ...(next.forms.length ? [el("h2", {}, t("labels_asked")), ...next.forms.flatMap(labelling.explained)] : []),
      ...(next.content.length ? [el("h2", {}, t("content_title")), el("p", {}, t("content_text")), subjects(next.content)] : []),
      el("h2", {}, t("consent")), el("div", { class: "eh-text", html: next.consent }),
      el("div", { class: "eh-actions" },
        el("button", { class: "eh-primary", id: "eh-agree", onclick: () => send("consent", { agreed: true, ...(next.content.length ? { declined: chosen(root) } : {}) }) }, t("agree")),
        el("button", { class: "eh-quiet", id: "eh-decline", onclick: () => send("consent", { agreed: false }) }, t("decline"))),
      contact(next));
  }

  function showDeclined() {
    page(el("h1", {}, t("declined_title")), el("p", {}, t("declined_text")),
      el("div", { class: "eh-actions" }, el("button", { class: "eh-quiet", onclick: load }, t("change_mind"))));
  }

  function showStopped() {
    page(el("h1", {}, t("stopped_title")), el("p", {}, t("stopped_text")),
      el("div", { class: "eh-actions" }, el("button", { class: "eh-quiet", id: "eh-go-on", onclick: load }, t("go_on"))));
  }

  // Subjects that a rater may leave out: at consent, and at any time from the top of the page.
  const subjects = (content) => el("div", { class: "eh-subjects" }, ...content.map((one) =>
    el("label", {}, el("input", { type: "checkbox", value: one.name, checked: one.out }), el("span", {}, one.name.replace(/_/g, " ")))));
  const chosen = (where) => [...where.querySelectorAll(".eh-subjects input:checked")].map((box) => box.value);

  function leaveOut() {
    if (!state || !(state.content || []).length) return;
    const box = dialog(t("content_title"), el("p", {}, t("content_text")), subjects(state.content),
      el("div", { class: "eh-actions" },
        el("button", { class: "eh-primary", id: "eh-content-ok", onclick: () => {
          const categories = chosen(box);
          box.close();
          send("decline", { categories });
        } }, t("keep")),
        el("button", { class: "eh-quiet", onclick: () => box.close() }, t("cancel"))));
  }

  async function stop() {
    await sendDraft();
    send("stop", {});
  }

  function showEmpty(next) {
    const until = next.until ? new Date(next.until).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" }) : "";
    page(el("h1", {}, t(`empty_${next.reason}_title`)), el("p", {}, t(`empty_${next.reason}_text`, { ...next, until, what: t(`of_${next.progress.of}`) })),
      next.done ? el("div", { class: "eh-actions" },
        el("button", { class: "eh-quiet", id: "eh-undo", onclick: undo }, t("undo_last"))) : null,
      contact(next));
    if (next.reason === "all_leased" || next.reason === "nothing_imported") pollTimer = setTimeout(load, 20_000);
  }

  const contact = (next) => next.contact ? el("p", { class: "eh-step" }, t("contact", next)) : null;

  function top() {
    const done = progress ? progress.done : 0, all = progress ? progress.done + progress.open : 0;
    return el("header", { class: "eh-top" }, el("div", { class: "eh-top-in" },
      el("span", { class: "eh-title" }, (state && state.title) || "Evenhand"),
      el("div", { class: "eh-progress" },
        progress ? el("span", { id: "eh-count" }, `${t(`${progress.of}_done`, progress)} · ${t("pairs_open", progress)}`) : null,
        progress ? el("div", { class: "eh-meter", role: "progressbar", "aria-valuemin": 0, "aria-valuemax": all, "aria-valuenow": done, "aria-label": t(`${progress.of}_done`, progress) },
          el("i", { style: `inline-size:${all ? (100 * done) / all : 0}%` })) : null),
      state && (state.content || []).length && ASKING.includes(state.state)
        ? el("button", { class: "eh-quiet eh-wide", id: "eh-content", onclick: leaveOut }, t("content")) : null,
      state && ASKING.includes(state.state) ? el("button", { class: "eh-quiet eh-wide", id: "eh-stop", title: t("stop_title"), onclick: stop }, t("stop")) : null,
      el("button", { class: "eh-quiet", id: "eh-theme", "aria-label": t("theme"), title: t("theme"), onclick: toggleTheme }, "◐"),
      el("button", { class: "eh-quiet", id: "eh-help", title: t("help_title"), onclick: help }, t("help"))));
  }

  // ---- the rating screen -------------------------------------------------------------
  function showScreen(next, before) {
    // Who works with Tab and Enter goes on from the new question, not from the top of the page.
    const focused = root.contains(document.activeElement);
    const samePage = before && before.state === next.state && before.page === next.page && find(".eh-rows");
    const asking = next.state === "label" ? labelPanel(next) : bar(next);
    if (!samePage) {
      const rows = el("div", { class: "eh-rows" });
      const main = el("main", { class: "eh-main", id: "eh-main", tabindex: "-1" }, rows);
      if (next.state === "label") { main.classList.add("eh-labelling"); main.append(asking); }
      fill(top(), main, ...(next.state === "label" ? [] : [asking]));
    } else {
      find(".eh-top").replaceWith(top());
      find(next.state === "label" ? ".eh-form" : ".eh-bar").replaceWith(asking);
    }
    const rows = find(".eh-rows");
    if (next.from === 1) rows.replaceChildren();
    for (const row of next.rows) rows.append(rowNode(row, next));
    for (const node of rows.querySelectorAll("[data-t]")) node.textContent = t(node.dataset.t);
    cover(next);
    root.dataset.state = next.state;
    root.dataset.screen = next.screen;
    root.dataset.ready = "";
    const newest = rows.lastElementChild;
    if (!samePage) window.scrollTo(0, 0);
    else if (next.rows.length && next.from > 1) newest.scrollIntoView({ block: "start", behavior: "smooth" });
    const question = next.dimension ? next.dimension.question : next.form.question;
    live.textContent = next.turn ? t("ready", { turn: next.turn, question }) : question;
    keyFor = null;
    activeMs = 0;
    activeSince = document.hidden ? 0 : performance.now();
    if (raw) showRaw();
    if (focused) find(".eh-question").focus({ preventScroll: true });
    settle();
  }

  // Texts that are hard to read wait until the rater asks for them, both sides alike.
  let uncovered = "";
  function cover(next) {
    const hidden = next.covered && uncovered !== next.page;
    find(".eh-rows").toggleAttribute("data-covered", Boolean(hidden));
    const over = find(".eh-cover");
    if (over) over.remove();
    if (hidden) find(".eh-rows").prepend(el("div", { class: "eh-cover" }, el("p", {}, t("covered")),
      el("button", { class: "eh-primary", id: "eh-uncover", "aria-keyshortcuts": "v", onclick: uncover }, t("uncover"), el("kbd", { "aria-hidden": "true" }, "V"))));
  }
  const isCovered = () => Boolean(find(".eh-rows[data-covered]"));
  function uncover() {
    if (!state || !isCovered()) return;
    uncovered = state.page;
    cover(state);
    find(".eh-question").focus({ preventScroll: true });
  }

  function labelPanel(next) {
    const kept = draftOf(next);
    return labelling.panel(next, kept.label || {}, kept.comment || "", raw);
  }

  function rowNode(row, next) {
    const sides = next.state === "label" ? ["answer"] : ["left", "right"];
    const asked = sides[0] in row; // else the question gives the reply: context, nothing to compare
    return el("section", { class: "eh-row", "data-turn": row.turn },
      el("div", { class: "eh-prompt" },
        el("p", { class: "eh-label" }, next.turns > 1 ? t(asked ? "turn_of" : "turn_given", { turn: row.turn, turns: next.turns }) : t("prompt")),
        el("div", { class: "eh-text", html: row.prompt })),
      !asked ? null : el("div", { class: sides.length > 1 ? "eh-sides" : "eh-single" }, ...sides.map((side) =>
        el("article", { class: "eh-answer", "data-side": side, "aria-label": t(`answer_${side}`) },
          sides.length > 1 ? el("div", { class: "eh-head", "aria-hidden": "true" }, el("span", { class: "eh-letter" }, t(`answer_${side}`)))
            : el("p", { class: "eh-label" }, t("answer_answer")),
          el("div", { class: "eh-text eh-formatted", html: row[side] }),
          el("pre", { class: "eh-text eh-raw", hidden: true })))));
  }

  function bar(next) {
    const words = next.dimension;
    const label = { left: words.left, right: words.right, tie: words.tie, both_bad: words.both_bad };
    const rubricOpen = sessionStorage.getItem("eh-rubric") === "1";
    const commentOpen = Boolean(draftOf(next).comment);
    const keep = (event) => { setUnsent({ screen: next.screen, comment: event.target.value }); clearTimeout(draftTimer); draftTimer = setTimeout(sendDraft, 600); };
    return el("section", { class: "eh-bar", "aria-label": words.question }, el("div", { class: "eh-bar-in" },
      el("div", { class: "eh-trouble", role: "alert", hidden: true }, el("span", {})),
      words.rubric ? el("div", { class: "eh-rubric eh-text", id: "eh-rubric", hidden: !rubricOpen, html: words.rubric }) : null,
      el("div", { class: "eh-comment", hidden: !commentOpen },
        el("textarea", { id: "eh-comment", rows: 2, maxlength: 5000, placeholder: t("comment_placeholder"), "aria-label": t("comment"), oninput: keep })),
      el("div", { class: "eh-ask" },
        el("h2", { class: "eh-question", tabindex: "-1" }, words.question),
        el("span", { class: "eh-step" }, 
          el("span", { class: "eh-long" }, `${t("turn_of", next)} · ${t("step_of", next.step)}`),
          el("span", { class: "eh-short", "aria-hidden": "true" }, t("step_short", next.step))),
        el("span", { class: "eh-status", id: "eh-status" })),
      el("div", { class: "eh-choices", role: "group", "aria-label": words.question }, ...CHOICES.map((choice, index) =>
        el("button", { class: "eh-choice", "data-choice": choice, "aria-keyshortcuts": String(index + 1), onclick: () => press(choice) },
          el("kbd", { "aria-hidden": "true" }, String(index + 1)), el("span", {}, label[choice])))),
      el("div", { class: "eh-tools" },
        words.rubric ? el("button", { class: "eh-quiet", "aria-expanded": String(rubricOpen), onclick: toggleRubric }, t("rubric")) : null,
        next.comments ? el("button", { class: "eh-quiet", id: "eh-comment-open", onclick: openComment }, t("comment")) : null,
        el("button", { class: "eh-quiet", id: "eh-raw", "aria-pressed": String(raw), onclick: toggleRaw }, t("raw")),
        el("span", { class: "eh-gap" }),
        el("button", { class: "eh-quiet", id: "eh-undo", onclick: undo }, t("undo")),
        el("button", { class: "eh-quiet", id: "eh-skip", onclick: skip }, t("skip")))));
  }

  // Answers count only after the keys were quiet for a moment (see QUIET_MS).
  function settle() {
    const draft = find("#eh-comment");
    if (draft && !draft.value) draft.value = draftOf(state).comment || "";
    settling = true;
    settleAgain();
  }
  function ready() {
    busy = settling = false;
    root.dataset.ready = "1";
  }
  function press(choice) {
    if (busy) { if (settling) settleAgain(); return; }
    vote(choice);
  }
  function settleAgain() {
    clearTimeout(readyTimer);
    readyTimer = setTimeout(ready, QUIET_MS);
  }

  async function vote(choice) {
    if (busy || !state || state.state !== "rate") return;
    if (isCovered()) { find("#eh-uncover").focus(); return; }
    pick(choice);
    await save("vote", { choice }, choice, () => vote(choice));
  }

  async function saveLabel(label) {
    if (busy || !state || state.state !== "label") return;
    await save("label", { label }, JSON.stringify(label), () => saveLabel(label));
  }

  // What was decided goes to the server, and what it shows next comes back.
  async function save(path, decided, identity, again) {
    busy = true;
    // One key per answer: the same one again is the same vote, another one must not pass for it.
    if (identity !== keyFor) { voteKey = newKey(); keyFor = identity; }
    root.dataset.ready = "";
    status(t("saving"));
    trouble(null);
    clearTimeout(draftTimer);
    const comment = find("#eh-comment"), screen = state.screen;
    if (activeSince) { activeMs += performance.now() - activeSince; activeSince = performance.now(); }
    try {
      const next = await call(path, { screen, ...decided, key: voteKey, comment: comment ? comment.value : "",
        active_ms: Math.round(activeMs), page: state.page, turns: state.visible });
      if ((unsent() || {}).screen === screen) setUnsent(null);
      show(next);
      status(t("saved"));
    } catch (error) { refused(error, again); }
  }

  function refused(error, again) {
    busy = false;
    root.dataset.ready = "1";
    pick(null);
    status(error.code === "already_voted" ? "" : t("not_saved"));
    if (["already_voted", "lease_lost", "unknown_screen", "no_consent"].includes(error.code)) trouble(error.message, t("reload"), load);
    else if (error.code === "not_invited") trouble(t("session_ended"), t("retry"), again);
    else trouble(error.message || t("not_saved"), t("retry"), again);
  }

  async function send(path, body) {
    if (busy) return;
    busy = true;
    try {
      show(await call(path, body));
      if (path === "skip") status(t("skipped"));
    } catch (error) {
      busy = false;
      if (find(".eh-trouble")) refused(error, () => send(path, body));
      else page(el("h1", {}, t("not_saved")), el("p", {}, error.code === "not_invited" ? t("session_ended") : error.message),
        el("div", { class: "eh-actions" }, el("button", { class: "eh-primary", onclick: load }, t("retry"))));
    }
  }

  async function load() {
    busy = true;
    try { show(await call("screen")); }
    catch (error) {
      busy = false;
      state = null; // keys must not answer a screen that is no longer shown
      page(el("h1", {}, error.code === "not_invited" ? t("session_ended") : t("offline")),
        el("div", { class: "eh-actions" }, el("button", { class: "eh-primary", onclick: load }, t("retry"))));
    }
  }

  async function undo() {
    if (busy) return;
    busy = true;
    root.dataset.ready = "";
    await sendDraft();
    undoKey = undoKey || newKey();
    const have = ASKING.includes(state.state) ? { page: state.page, turns: state.visible } : {};
    try { show(await call("undo", { ...have, key: undoKey })); undoKey = ""; status(t("undone")); }
    catch (error) {
      if (error.code !== "offline" && error.code !== "not_saved") undoKey = "";
      busy = false;
      root.dataset.ready = "1";
      if (find(".eh-trouble")) trouble(error.message);
    }
  }

  function skip() {
    if (busy || !state || !ASKING.includes(state.state)) return;
    const reasons = state.skip_reasons.map((reason, index) => el("label", {},
      el("input", { type: "radio", name: "eh-reason", value: reason, checked: index === 0 }), el("span", {}, reason)));
    const note = el("textarea", { rows: 2, maxlength: 5000, placeholder: t("skip_note"), "aria-label": t("skip_note") });
    const screen = state.screen;
    const box = dialog(t(state.state === "label" ? "skip_answer_title" : "skip_title"), el("p", { class: "eh-step", style: "white-space: normal" }, t(state.state === "label" ? "skip_answer_text" : "skip_text")), ...reasons, note, el("div", { class: "eh-actions" },
      el("button", { class: "eh-primary", id: "eh-skip-ok", onclick: () => {
        const reason = box.querySelector("input:checked").value;
        box.close();
        send("skip", { screen, reason, note: note.value });
      } }, t("skip")),
      el("button", { class: "eh-quiet", onclick: () => box.close() }, t("cancel"))));
  }

  function help() {
    const keys = state && state.state === "label" ? labelling.keys() : [["1  A  ←", "key_left"], ["4  B  →", "key_right"], ["2  T", "key_tie"], ["3  N", "key_both_bad"],
      ["U", "key_undo"], ["S", "key_skip"], ["C", "key_comment"], ["R", "key_raw"], ["?", "key_help"]];
    const list = el("dl", { class: "eh-keys" });
    for (const [names, meaning] of keys)
      list.append(el("dt", {}, ...names.split(/\s+/).flatMap((k) => [el("kbd", {}, k), " "])), el("dd", {}, t(meaning)));
    const box = dialog(t("help_title"), list,
      state && state.instructions ? el("div", { class: "eh-text", style: "margin-block-start:1rem", html: state.instructions }) : null,
      state && state.contact ? el("p", { class: "eh-step" }, t("contact", state)) : null,
      el("div", { class: "eh-actions" }, el("button", { class: "eh-quiet", onclick: () => box.close() }, t("close")),
        state && (state.content || []).length && ASKING.includes(state.state)
          ? el("button", { class: "eh-quiet", onclick: () => { box.close(); leaveOut(); } }, t("content")) : null,
        state && ASKING.includes(state.state) ? el("button", { class: "eh-quiet", onclick: () => { box.close(); stop(); } }, t("stop")) : null));
  }

  function dialog(title, ...children) {
    const box = el("dialog", { class: "eh-dialog", "aria-label": title }, el("h2", {}, title), ...children);
    box.addEventListener("close", () => box.remove());
    root.append(box);
    box.showModal();
    box.scrollTop = 0; // the focus is on its last button; reading starts at its top
    return box;
  }

  // ---- small things ------------------------------------------------------------------
  const status = (text) => { const node = find("#eh-status"); if (node) node.textContent = text; };
  function pick(choice) {
    for (const button of root.querySelectorAll(".eh-choice")) {
      button.toggleAttribute("data-picked", button.dataset.choice === choice);
      button.disabled = choice !== null;
    }
  }
  function trouble(message, action, run) {
    const box = find(".eh-trouble");
    if (!box) return;
    box.hidden = !message;
    box.replaceChildren(el("span", {}, message || ""), ...(action ? [el("button", { id: "eh-again", onclick: run }, action)] : []));
  }
  function toggleRubric(event) {
    const box = find("#eh-rubric");
    box.hidden = !box.hidden;
    event.target.setAttribute("aria-expanded", String(!box.hidden));
    sessionStorage.setItem("eh-rubric", box.hidden ? "" : "1");
  }
  function openComment() {
    const box = find(".eh-comment");
    if (!box) return;
    box.hidden = false;
    find("#eh-comment").focus();
  }
  // What is typed lies in the browser until the server has it: a lost session or connection
  // keeps it, and it belongs to the screen it was typed on wherever the rater goes next.
  let unsentHere = null;
  function unsent() {
    try { return JSON.parse(localStorage.getItem("eh-draft")); } catch { return unsentHere; }
  }
  function setUnsent(draft) {
    unsentHere = draft;
    try {
      if (draft) localStorage.setItem("eh-draft", JSON.stringify(draft));
      else localStorage.removeItem("eh-draft");
    } catch { /* private mode: just this page */ }
  }
  function draftOf(next) {
    const draft = unsent();
    if (draft && draft.screen === next.screen) return draft;
    return next.state === "label" ? { comment: next.comment, label: next.label } : { comment: next.draft };
  }
  async function sendDraft() {
    clearTimeout(draftTimer);
    const draft = unsent();
    if (!draft) return;
    try {
      await call("draft", draft);
      if (JSON.stringify(unsent()) === JSON.stringify(draft)) setUnsent(null);
    } catch (error) {
      if (error.code === "unknown_screen") setUnsent(null); // else kept here, and sent with the vote
    }
  }
  async function toggleRaw() {
    raw = !raw;
    find("#eh-raw").setAttribute("aria-pressed", String(raw));
    if (raw) return showRaw();
    for (const node of root.querySelectorAll(".eh-raw")) node.hidden = true;
    for (const node of root.querySelectorAll(".eh-formatted")) node.hidden = false;
  }
  async function showRaw() {
    const screen = state.screen;
    const rows = await call(`raw/${screen}`).catch(() => null);
    if (!rows || !state || state.screen !== screen) return;
    rows.forEach((row, index) => {
      for (const side of Object.keys(row)) {
        const cell = find(`.eh-row[data-turn="${index + 1}"] .eh-answer[data-side="${side}"]`);
        if (!cell) continue;
        cell.querySelector(".eh-raw").textContent = row[side];
        cell.querySelector(".eh-raw").hidden = false;
        cell.querySelector(".eh-formatted").hidden = true;
      }
    });
  }
  function toggleTheme() {
    const dark = document.documentElement.dataset.theme
      ? document.documentElement.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    setTheme(dark ? "light" : "dark");
  }
  function setTheme(theme) {
    if (theme) document.documentElement.dataset.theme = theme;
    try { if (theme) localStorage.setItem("eh-theme", theme); } catch { /* private mode: just this page */ }
  }

  function onKey(event) {
    if (event.isComposing || event.repeat || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input, textarea, select, [contenteditable]")) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    if (root.querySelector("dialog[open]")) return;
    const key = event.key.toLowerCase();
    if (key === "?") return help();
    if (!state || !ASKING.includes(state.state)) { if (key === "u" && find("#eh-undo")) undo(); return; }
    if (key === "v" && isCovered()) { event.preventDefault(); return uncover(); }
    if (state.state === "label") {
      if (busy) { if (settling) settleAgain(); return; }
      if (key === "u") undo();
      else if (key === "s") skip();
      else if (key === "n" && state.comments) { event.preventDefault(); openComment(); }
      else if (key === "r") toggleRaw();
      else if (isCovered()) { if (/^[0-9a-m]$/.test(key)) find("#eh-uncover").focus(); }
      else labelling.key(event, key);
      return;
    }
    if (KEYS[key]) { event.preventDefault(); press(KEYS[key]); }
    else if (key === "u") undo();
    else if (key === "s") skip();
    else if (key === "c" && state.comments) { event.preventDefault(); openComment(); }
    else if (key === "r") toggleRaw();
  }

  function start() {
    live = el("div", { class: "eh-sr", id: "eh-live", "aria-live": "polite" });
    root.replaceChildren(live, el("p", { class: "eh-loading" }, t("loading")));
    document.addEventListener("keydown", onKey);
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) { if (activeSince) activeMs += performance.now() - activeSince; activeSince = 0; }
      else activeSince = performance.now();
    });
    setInterval(() => { if (!document.hidden && state && ASKING.includes(state.state)) call("heartbeat", {}).catch(() => {}); }, HEARTBEAT_MS);
    first.then(show, () => load());
  }

  const keepDraft = (draft) => {
    setUnsent(draft);
    clearTimeout(draftTimer);
    draftTimer = setTimeout(sendDraft, 600);
  };
  const labelling = window.EVENHAND_LABEL({ el, t, keep: keepDraft, save: saveLabel, say: (text) => { live.textContent = text; },
    status: (text) => status(text), toggleRaw, openComment, undo, skip, screen: () => state.screen,
    press: () => { if (busy && settling) settleAgain(); return !busy && !isCovered(); } });

  let saved = null;
  try { saved = localStorage.getItem("eh-theme"); } catch { /* private mode */ }
  setTheme(saved);
  document.documentElement.lang = (window.EVENHAND || {}).language || "en";
  const first = call("screen"); // asked while Gradio still builds its page
  first.catch(() => {});
  const wait = () => {
    root = document.getElementById("evenhand");
    if (root) return start();
    new MutationObserver((_, observer) => {
      root = document.getElementById("evenhand");
      if (root) { observer.disconnect(); start(); }
    }).observe(document.documentElement, { childList: true, subtree: true });
  };
  wait();
})();
