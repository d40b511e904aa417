// The form for one answer: its harm label, a few questions each answered by a key or a click, or
// its grade from 1 to 10, a single one. Digits answer the question that is marked; letters toggle kinds of harm; Enter goes on, and
// saves when nothing is missing. What is chosen is kept as a draft until it is saved.
window.EVENHAND_LABEL = (kit) => {
  "use strict";
  const { el, t } = kit;
  const LETTERS = "abcdefghijklm";
  const SCALES = ["specificity", "convincingness"];
  let next, form, value, active, seen, node;

  const GRADE_KEYS = [["1 … 9", "key_grade"], ["0", "key_grade_ten"]];
  const LABEL_KEYS = [["1 … 5", "key_option"], ["0 … 3", "key_severity"], ["A … M", "key_category"]];
  const COMMON_KEYS = [["Enter", "key_enter"], ["←", "key_back"], ["V", "key_uncover"], ["U", "key_undo"], ["S", "key_skip_answer"], ["N", "key_comment"],
    ["R", "key_raw"], ["?", "key_help"]];
  const keys = () => [...(form.asks === "grade" ? GRADE_KEYS : LABEL_KEYS), ...COMMON_KEYS];

  const kind = () => form.types.find((one) => one.value === value.response_type);
  const name = (prefix, word) => t(`${prefix}_${word}`);

  // Which questions there are depends on what was answered: a refusal is neither specific nor
  // convincing, and what does no harm has no kind of harm.
  function groups() {
    if (form.asks === "grade") return ["grade"];
    const rated = kind() && kind().rated !== "no";
    return ["response_type", "severity", ...(value.severity > 0 ? ["categories"] : []), ...(rated ? SCALES : [])];
  }
  const answered = (group) => group === "categories" ? seen.has(group) || value.categories.length > 0 : value[group] != null;
  const needed = (group) => group === "categories" ? !answered(group) : !SCALES.includes(group) || kind().rated === "must";
  const fresh = (label) => form.asks === "grade" ? { grade: null, ...label }
    : { response_type: null, severity: null, specificity: null, convincingness: null, ...label,
      categories: (label.categories || []).filter((one) => form.categories.includes(one)) };
  const missing = () => groups().find((group) => needed(group) && !answered(group));

  function panel(screen, label, comment, raw) {
    next = screen;
    form = screen.form;
    value = fresh(label);
    seen = new Set();
    active = missing() || "save";
    const guide = form.guidance ? el("details", { class: "eh-guide" }, el("summary", {}, t("rubric")), el("div", { class: "eh-text", html: form.guidance })) : null;
    node = el("section", { class: "eh-form", "aria-label": form.question },
      el("div", { class: "eh-ask" },
        el("h2", { class: "eh-question", tabindex: "-1" }, form.question),
        screen.step.of > 1 ? el("span", { class: "eh-step" }, t("answer_step", screen.step)) : null),
      screen.labels ? raters(screen.labels) : null,
      guide,
      ...(form.asks === "grade" ? [grading()] : labelling()),
      el("div", { class: "eh-comment", hidden: !comment },
        el("textarea", { id: "eh-comment", rows: 2, maxlength: 5000, placeholder: t("comment_placeholder"), "aria-label": t("comment"), oninput: keep })),
      el("div", { class: "eh-finish" },
        el("div", { class: "eh-trouble", role: "alert", hidden: true }, el("span", {})),
        el("div", { class: "eh-save-row" },
          el("button", { class: "eh-primary", id: "eh-save", "aria-keyshortcuts": "Enter", onclick: () => kit.press() && save() }, el("span", {}, t("save_label")), el("kbd", { "aria-hidden": "true" }, "⏎")),
          el("span", { class: "eh-status", id: "eh-status", role: "status" }))),
      el("div", { class: "eh-tools" },
        screen.comments ? el("button", { class: "eh-quiet", id: "eh-comment-open", onclick: kit.openComment }, t("comment")) : null,
        el("button", { class: "eh-quiet", id: "eh-raw", "aria-pressed": String(raw), onclick: kit.toggleRaw }, t("raw")),
        el("span", { class: "eh-gap" }),
        el("button", { class: "eh-quiet", id: "eh-undo", onclick: kit.undo }, t("undo")),
        el("button", { class: "eh-quiet", id: "eh-skip", onclick: kit.skip }, t("skip"))));
    paint();
    return node;
  }

  const labelling = () => [
    options("response_type", form.types.map((one, index) => [one.value, String(index + 1), name("type", one.value), one.words])),
    options("severity", form.severities.map((one) => [one.value, String(one.value), ...split(one.words)])),
    kinds(),
    el("div", { class: "eh-scales" }, ...SCALES.map((scale) => options(scale, [1, 2, 3, 4, 5].map((n) => [n, String(n), String(n), ""]), [t("scale_low"), t("scale_high")])))];

  // Ten has two digits and one key: 0.
  const grading = () => options("grade", form.grades.map((n) => [n, String(n % 10), String(n), ""]),
    [t("grade_end", { grade: form.grades[0], words: form.lowest }), t("grade_end", { grade: form.grades.at(-1), words: form.highest })]);

  function options(group, rows, ends) {
    const short = Boolean(ends);
    return el("section", { class: "eh-group", "data-group": group },
      el("h3", { id: `eh-${group}` }, t(group)),
      el("div", { class: short ? "eh-scale" : "eh-options", role: "radiogroup", "aria-labelledby": `eh-${group}`, ...(short ? { "aria-describedby": `eh-ends-${group}` } : {}) },
        ...rows.map(([option, key, title, words]) =>
          el("button", { class: "eh-option", role: "radio", "data-value": option, "aria-keyshortcuts": key, onclick: () => kit.press() && choose(group, option) },
            short ? null : el("kbd", { "aria-hidden": "true" }, key),
            el("span", {}, el("b", {}, title), words ? el("small", {}, words) : null)))),
      short ? el("p", { class: "eh-ends", id: `eh-ends-${group}` }, el("span", {}, ends[0]), el("span", {}, ends[1])) : null);
  }

  // "actionable: it would …" is a word and what it means.
  function split(words) {
    const at = words.indexOf(": ");
    return at < 0 ? [words, ""] : [words.slice(0, at), words.slice(at + 2)];
  }

  function kinds() {
    return el("section", { class: "eh-group", "data-group": "categories" },
      el("h3", { id: "eh-categories" }, t("categories")),
      el("div", { class: "eh-kinds", role: "group", "aria-labelledby": "eh-categories" },
        ...form.categories.map((one, index) =>
          el("button", { class: "eh-option", role: "checkbox", "data-value": one, "aria-keyshortcuts": LETTERS[index], onclick: () => kit.press() && toggle(one) },
            el("kbd", { "aria-hidden": "true" }, LETTERS[index].toUpperCase()), el("span", {}, name("category", one))))));
  }

  // For who settles a unit: what raters said, side by side, without a word on whose it is.
  function raters(labels) {
    const rows = ["response_type", "severity", "categories", ...SCALES];
    const words = (label, row) => row === "response_type" ? name("type", label[row])
      : row === "categories" ? label[row].map((one) => name("category", one)).join(", ") || "–"
      : label[row] == null ? "–" : String(label[row]);
    return el("section", { class: "eh-said" }, el("h3", {}, t("labels_said")),
      el("table", {}, el("thead", {}, el("tr", {}, el("th", {}), ...labels.map((_, index) => el("th", { scope: "col" }, t("label_number", { number: index + 1 }))))),
        el("tbody", {}, ...rows.map((row) => {
          const cells = labels.map((label) => words(label, row));
          return el("tr", { class: new Set(cells).size > 1 ? "eh-differ" : "" }, el("th", { scope: "row" }, t(`short_${row}`)), ...cells.map((cell) => el("td", {}, cell)));
        }))));
  }

  function paint() {
    const open = groups();
    for (const section of node.querySelectorAll(".eh-group")) {
      const group = section.dataset.group;
      section.hidden = !open.includes(group);
      section.toggleAttribute("data-active", group === active);
      for (const button of section.querySelectorAll(".eh-option")) {
        const own = button.dataset.value;
        const on = group === "categories" ? value.categories.includes(own) : String(value[group]) === own;
        button.setAttribute("aria-checked", String(on));
      }
    }
    node.querySelector("#eh-save").toggleAttribute("data-complete", !missing());
  }

  function keep() {
    const label = Object.fromEntries(Object.entries(value).filter(([, one]) => one != null && one.length !== 0));
    kit.keep({ screen: next.screen, comment: node.querySelector("#eh-comment").value, label });
  }

  function choose(group, option) {
    value[group] = option;
    if (group === "response_type" && kind().rated === "no") for (const scale of SCALES) value[scale] = null;
    if (group === "severity" && option === 0) value.categories = [];
    go(after(group));
    keep();
  }

  function toggle(one) {
    if (!groups().includes("categories")) return;
    value.categories = value.categories.includes(one) ? value.categories.filter((other) => other !== one) : [...value.categories, one];
    go("categories");
    keep();
  }

  // The next question after this one that has no answer yet; then the button.
  function after(group) {
    const open = groups();
    const rest = open.slice(open.indexOf(group) + 1);
    return rest.find((one) => !answered(one)) || missing() || "save";
  }

  function go(group) {
    active = group;
    paint();
    kit.status("");
    const section = node.querySelector(`[data-group="${group}"]`) || node.querySelector("#eh-save");
    section.scrollIntoView({ block: "nearest" });
    kit.say(group === "save" ? t("ready_to_save") : t(group));
  }

  function save() {
    const lacking = missing();
    // The kinds of harm may stay empty, but not unseen.
    if (active === "categories" && lacking) { seen.add("categories"); return go(after("categories")); }
    if (lacking) { go(lacking); kit.status(t("still_missing")); return; }
    kit.save(form.asks === "grade" ? value : { ...value, categories: [...value.categories].sort() });
  }

  function back() {
    const open = groups();
    const at = active === "save" ? open.length : open.indexOf(active);
    if (at > 0) go(open[at - 1]);
  }

  function key(event, pressed) {
    // There is one grade only: another digit is another mind, wherever the mark is.
    const group = form.asks === "grade" ? "grade" : active;
    if (pressed === "enter") {
      // Other buttons do what they say; an option does not toggle when the rater means "go on".
      if (event.target.closest("button:not(.eh-option):not(#eh-save), summary, a")) return;
      event.preventDefault();
      // Skipping over a scale that may stay empty is an answer too.
      if (SCALES.includes(group) && !missing()) { const open = groups(), then = open[open.indexOf(group) + 1]; return then ? go(then) : save(); }
      return save();
    }
    if (pressed === "backspace" || pressed === "arrowleft") { event.preventDefault(); return back(); }
    if (/^[0-9]$/.test(pressed)) {
      const button = node.querySelector(`[data-group="${group}"]:not([hidden]) [aria-keyshortcuts="${pressed}"]`);
      if (!button) return;
      event.preventDefault();
      const option = group === "response_type" ? button.dataset.value : Number(button.dataset.value);
      return choose(group, option);
    }
    if (form.asks === "grade") return;
    const at = pressed.length === 1 ? LETTERS.indexOf(pressed) : -1;
    if (at >= 0 && at < form.categories.length) { event.preventDefault(); toggle(form.categories[at]); }
  }

  // Before consent: what will be asked about each answer, in the rubric's own words.
  function explained(rubric) {
    const head = [el("p", {}, rubric.question), rubric.guidance ? el("div", { class: "eh-text", html: rubric.guidance }) : null];
    if (rubric.asks === "grade")
      return [...head, el("dl", { class: "eh-rubric-list" }, ...[[rubric.grades[0], rubric.lowest], [rubric.grades.at(-1), rubric.highest]].flatMap(([grade, words]) => [el("dt", {}, String(grade)), el("dd", {}, words)]))];
    return [...head,
      el("dl", { class: "eh-rubric-list" }, ...rubric.types.flatMap((one) => [el("dt", {}, name("type", one.value)), el("dd", {}, one.words)])),
      el("dl", { class: "eh-rubric-list" }, ...rubric.severities.flatMap((one) => [el("dt", {}, String(one.value)), el("dd", {}, one.words)]))];
  }

  return { panel, key, keys, explained };
};
