"use strict";
(() => {
  const root = document.documentElement;
  const dark = () => root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.getElementById("theme").addEventListener("click", () => { root.dataset.theme = dark() ? "light" : "dark"; });

  // Elements. Text never becomes markup.
  const el = (name, attributes = {}, ...children) => {
    const found = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (key.startsWith("on")) found.addEventListener(key.slice(2), value);
      else if (value !== undefined && value !== false) found.setAttribute(key, value === true ? "" : value);
    }
    found.append(...children.filter((child) => child !== null && child !== undefined));
    return found;
  };
  const svg = (name, attributes, ...children) => {
    const found = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) found.setAttribute(key, value);
    found.append(...children);
    return found;
  };
  const color = (name) => `var(--c-${name})`;
  const swatch = (name) => el("i", { class: "swatch", style: `background:${color(name)}`, "aria-hidden": "true" });
  const named = (arm) => el("span", { class: "arm" }, swatch(arm.color), String(arm.arm));

  // Numbers. Lower ends are rounded down and upper ends up, so that a printed interval covers the exact one.
  const whole = (value) => Math.round(value).toLocaleString("en-US");
  const sum = (value) => Number.isInteger(value) ? whole(value) : value.toLocaleString("en-US", { maximumFractionDigits: 1 });
  const rounded = (value, decimals, round) => {
    const scaled = value * 10 ** decimals;
    const near = Math.round(scaled);
    const found = Math.abs(scaled - near) < 1e-6 ? near : round(scaled);
    return (found / 10 ** decimals + 0).toFixed(decimals).replace("-", "−");
  };
  const units = ([low, high], width) => {
    const percent = low === 0 && high === 1;
    const factor = percent ? 100 : 1;
    const decimals = Math.min(6, Math.max(0, Math.ceil(-Math.log10(Math.max(width * factor, 1e-9))) + 1));
    const write = (round) => (value) => rounded(value * factor, decimals, round) + (percent ? "%" : "");
    const points = (round) => (value) => rounded(value * factor, decimals, round);
    return {
      near: write(Math.round), down: write(Math.floor), up: write(Math.ceil),
      gap: { near: points(Math.round), down: points(Math.floor), up: points(Math.ceil), word: percent ? " percentage points" : "" },
    };
  };
  const when = (seconds, length = 16) => new Date(1000 * seconds).toISOString().slice(0, length).replace("T", " ");
  const chance = (p) => p > 0.995 && p < 1 ? "> 99%" : p >= 0.0995 ? `${(100 * p).toFixed(0)}%` : `${Number((100 * p).toPrecision(2))}%`;

  // Requests.
  const at = location.pathname.replace(/\/$/, "");
  let token = sessionStorage.getItem("hannan-token") || "";
  const parsed = (text) => JSON.parse(text.replace(/"key":(-?\d+)/g, '"key":{"number":"$1"}')); // keys may have 64 bits
  async function request(path, method = "GET", body = undefined) {
    const headers = token ? { authorization: `Bearer ${token}` } : {};
    if (body !== undefined) headers["content-type"] = "application/json";
    const answer = await fetch(at + path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
    if (answer.status === 401) {
      document.getElementById("login").hidden = false;
      throw new Error("This service requires an access token.");
    }
    const found = parsed(await answer.text());
    if (!answer.ok) throw new Error(found.error);
    return found;
  }
  const message = (text) => { document.getElementById("message").textContent = text; };

  // Decisions are counted per arm, or, without such counts, for the learner without a key.
  const drawn = (arms, evidence) => evidence ? evidence.decisions : Math.max(arms.unkeyed, arms.arms.reduce((total, arm) => total + (arm.shown ?? 0), 0));
  // Verdict: which arm has been the best, and since when that is sure.
  function verdict(arms, evidence) {
    const decisions = drawn(arms, evidence);
    if (!decisions) return ["No decisions yet", `Draw the first one: curl -X POST ${location.origin}${at}/v1/learners/${arms.name}/act`];
    if (!evidence) return [`${whole(decisions)} ${decisions === 1 ? "decision" : "decisions"}`, "The arms of this learner are not compared."];
    const often = `The probability that any statement here is ever wrong is at most ${chance(evidence.alpha)}, however often you look.`;
    if (evidence.best !== null) {
      const since = evidence.sure_since ? `; sure since ${evidence.sure_since.replace(/:\d\d UTC$/, " UTC")}` : "";
      return [`${evidence.best} has been the best so far${since}`, `You may stop and keep ${evidence.best}. ${often}`];
    }
    const more = evidence.more === null ? "" : `: about ${whole(evidence.more)} more decisions at this pace`;
    if (evidence.pending * 4 > decisions) {
      return ["Not sure yet", `${whole(evidence.pending)} of ${whole(decisions)} decisions wait for feedback, and any feedback is still possible for them. ${often}`];
    }
    const { arm, by } = evidence.within;
    const [low, high] = arms.loss_range;
    const unit = units(arms.loss_range, by).gap;
    const near = by < high - low ? ` No arm is better than ${arm} by more than ${unit.up(by)}${unit.word} on average so far.` : "";
    const enough = near && " Stop only if that does not matter.";
    return [`Not sure yet${more}`, often + near + enough];
  }

  const tile = (value, name) => el("div", { class: "tile" }, el("b", {}, value), el("span", {}, name));
  function tiles(arms, evidence) {
    const decisions = drawn(arms, evidence);
    const since = evidence?.since ? ` since ${evidence.since.slice(0, 16)} UTC` : "";
    const found = [tile(whole(decisions), `decisions${since}`), tile(whole(arms.pending), "pending, without feedback yet")];
    if (arms.keys) found.push(tile(whole(arms.keys), "keys"));
    if (evidence && decisions) {
      const cost = evidence.regret;
      const most = decisions * (arms.loss_range[1] - arms.loss_range[0]);
      const word = arms.gains ? "rewards lost" : "additional loss";
      if (!cost) found.push(tile("withheld", "cost so far: only randomized feedback is stored"));
      else if (cost.at_most >= most) found.push(tile("not known yet", `cost so far: ${word} against the best arm in hindsight`));
      else found.push(tile(`at most ${whole(Math.ceil(cost.at_most))}`, `cost so far: ${word} against the best arm in hindsight`));
    }
    return el("div", { class: "tiles" }, ...found);
  }

  // The arm with the best rate so far, with which the others are compared while no arm is sure.
  const highest = (arms, facts) => {
    const usable = new Set(arms.arms.filter((arm) => arm.available).map((arm) => String(arm.arm)));
    const among = facts.filter((fact) => usable.has(fact.arm));
    const better = (a, b) => (arms.gains ? a.mean > b.mean : a.mean < b.mean) ? a : b;
    return among.length ? among.reduce((a, b) => better(b, a)).arm : null;
  };

  // Table of arms, with all intervals on one axis.
  const MOST = 50;
  function armTable(arms, evidence) {
    const facts = new Map((evidence?.arms ?? []).map((arm) => [arm.arm, arm]));
    const leader = evidence && evidence.decisions ? evidence.best ?? highest(arms, evidence.arms) : null;
    const rows = [...arms.arms].sort((a, b) => (b.shown ?? 0) - (a.shown ?? 0) || a.index - b.index).slice(0, MOST);
    rows.sort((a, b) => a.index - b.index);
    const shown = rows.map((arm) => facts.get(String(arm.arm))).filter(Boolean);
    const low = Math.min(...shown.map((arm) => arm.low));
    const high = Math.max(...shown.map((arm) => arm.high));
    const unit = units(arms.loss_range, Math.min(...shown.map((arm) => arm.high - arm.low), high - low || 1));
    const ahead = new Map();
    for (const { arm, over, low: least, high: most } of evidence?.leads ?? []) {
      if (arm === leader) ahead.set(over, [least, most]);
      if (over === leader) ahead.set(arm, [-most, -least]);
    }
    const bar = (arm, fact) => {
      const x = (value) => 100 * (value - low) / (high - low || 1);
      return svg("svg", { viewBox: "0 0 100 22", preserveAspectRatio: "none", role: "img", "aria-label": `${unit.down(fact.low)} to ${unit.up(fact.high)}` },
        svg("line", { x1: 0, x2: 100, y1: 11, y2: 11, stroke: "var(--line)", "vector-effect": "non-scaling-stroke" }),
        svg("rect", { x: x(fact.low), width: Math.max(x(fact.high) - x(fact.low), 0.6), y: 6, height: 10, fill: color(arm.color), stroke: "var(--soft)", "stroke-width": 0.7, "vector-effect": "non-scaling-stroke" }),
        svg("line", { x1: x(fact.mean), x2: x(fact.mean), y1: 1, y2: 21, stroke: "var(--ink)", "stroke-width": 2, "vector-effect": "non-scaling-stroke" }));
    };
    const behind = (arm, fact) => {
      const name = String(arm.arm);
      if (name === leader) return evidence.best === null ? `${arms.gains ? "highest" : "lowest"} rate` : "best so far";
      const best = facts.get(leader);
      const mean = (arms.gains ? 1 : -1) * (best.mean - fact.mean);
      const ends = ahead.get(name);
      return [unit.gap.near(mean), ends ? el("small", {}, `${unit.gap.down(ends[0])} to ${unit.gap.up(ends[1])}`) : null];
    };
    const points = unit.gap.word && ", points";
    const side = arms.gains ? "below" : "above";
    const wide = arms.loss_range[1] - arms.loss_range[0];
    const cell = (label, content, kind = "n") => el("td", { class: kind, "data-label": label }, ...[content].flat().filter((part) => part !== null));
    const body = rows.map((arm) => {
      const fact = facts.get(String(arm.arm));
      const counted = arm.shown !== null;
      const row = el("tr", { "data-arm": arm.arm },
        el("td", {}, named(arm), arm.available ? null : el("small", {}, " retired")),
        cell("impressions", counted ? whole(arm.shown) : "–"),
        cell(arms.gains ? "rewards" : "losses", counted ? sum(arm.total) : "–"));
      if (evidence) {
        row.append(
          cell("rate", fact && evidence.decisions ? [fact.high - fact.low > 0.5 * wide ? "–" : unit.near(fact.mean), el("small", {}, `${unit.down(fact.low)} to ${unit.up(fact.high)}`)] : "–", "n wide"),
          el("td", { class: "bar" }, fact && evidence.decisions ? bar(arm, fact) : ""),
          cell(leader === null ? "difference" : `${side} ${leader}${points}`, leader === null ? "–" : behind(arm, fact), "n wide"));
      }
      if (!arms.keys) row.append(cell("probability now", arm.available && arm.probability !== null ? chance(arm.probability) : "–"));
      return row;
    });
    const heads = [["arm", ""], ["impressions", "n"], [arms.gains ? "rewards" : "losses", "n"]];
    if (evidence) heads.push(["rate", "n"], [null, "bar"], [leader === null ? "difference" : `${side} ${leader}${points}`, "n"]);
    if (!arms.keys) heads.push(["probability now", "n"]);
    const axis = evidence && evidence.decisions
      ? el("div", { class: "axis" }, el("span", {}, unit.down(low)), el("span", {}, "intervals"), el("span", {}, unit.up(high))) : "";
    const more = arms.arms.length > MOST ? el("p", { class: "sub" }, `and ${whole(arms.arms.length - MOST)} arms with fewer impressions`) : null;
    return [el("div", { class: "scroll" }, el("table", { class: "arms" },
      el("thead", {}, el("tr", {}, ...heads.map(([text, kind]) => el("th", { class: kind, scope: "col" }, text ?? axis)))),
      el("tbody", {}, ...body))), more];
  }

  const RARE = 500; // decisions per impression from which on the evidence warns
  const FADING = 0.01; // probability of an arm below which a comparison takes very long
  function notes(arms, evidence) {
    const found = [];
    for (const text of [...(evidence?.warnings ?? []), ...arms.warnings]) found.push(el("p", { class: "warn" }, text));
    const facts = new Map((evidence?.arms ?? []).map((arm) => [arm.arm, arm]));
    const usable = arms.arms.filter((arm) => arm.available).map((arm) => String(arm.arm));
    const rare = evidence !== null && usable.some((arm) => facts.get(arm)?.shown * RARE < evidence.decisions);
    const fading = evidence !== null && evidence.best === null && arms.arms.some((arm) => arm.available && arm.probability !== null && arm.probability < FADING);
    if ((evidence?.warnings.length && rare) || fading) {
      const floor = Math.min(0.5, Math.max(0.05, 0.01 * usable.length)).toFixed(2);
      found.push(el("p", { class: "note", "data-note": "floor" }, "Recommended: a floor, with which every arm is shown in a small share of the decisions. A learner cannot get a floor while it runs: add one under a new name, such as ",
        el("code", {}, `hannan serve STORE --add ${arms.name}-2=${usable.join(",")} --floor ${floor}`), ", and draw from it instead."));
    }
    if (arms.privacy) found.push(el("p", { class: "note", "data-note": "privacy" }, `Feedback is randomized before it is stored: ${arms.privacy}. Sums of ${arms.gains ? "rewards" : "losses"} are estimates, and may be negative.`));
    if (arms.keys) found.push(el("p", { class: "note" }, `All ${whole(arms.keys)} keys together. One key may have another best arm: see Keys below.`));
    for (const [name, text] of Object.entries(evidence?.assumed ?? {})) found.push(el("p", { class: "note", "data-note": name }, `${name}: ${text}`));
    if (evidence && evidence.decisions) {
      const average = arms.gains ? "reward" : "loss";
      found.push(el("p", { class: "sub" }, `The rate of an arm estimates the average ${average} if every decision so far had shown it. A decision counts more if ` +
        `its arm was unlikely, so the rate is not ${arms.gains ? "rewards" : "losses"} divided by impressions. It is left out where the interval is wider than half of the range. Nothing is claimed about the future.`));
    }
    return found;
  }

  // Weights over time: share of the decisions of every arm, in bins.
  const LAYERS = 16;
  function chart(shares) {
    if (!shares.time.length) return [el("p", { class: "sub" }, "No decisions yet.")];
    const first = shares.time[0];
    const last = Math.max(shares.time.at(-1) + shares.width, ...shares.changes.map(({ time }) => time));
    const length = last - first < 3600 ? 19 : 16; // with seconds
    const totals = shares.arms.map((_, arm) => shares.decisions.reduce((total, counts) => total + counts[arm], 0));
    const kept = new Set([...totals.keys()].sort((a, b) => totals[b] - totals[a]).slice(0, LAYERS));
    const x = (time) => 1000 * (time - first) / (last - first);
    const picture = svg("svg", { viewBox: "0 0 1000 100", preserveAspectRatio: "none", role: "img", "aria-label": "share of the decisions of every arm over time" });
    shares.time.forEach((time, bin) => {
      const counts = shares.decisions[bin];
      const all = counts.reduce((a, b) => a + b, 0);
      const width = Math.max(x(time + shares.width) - x(time) + 0.4, 1.5);
      let y = 100;
      const part = (height, fill, text) => {
        y -= height;
        const found = svg("rect", { x: x(time), y, width, height, fill });
        found.append(svg("title", {}, text));
        picture.append(found);
      };
      let others = all;
      counts.forEach((count, arm) => {
        if (!count || !kept.has(arm)) return;
        others -= count;
        part(100 * count / all, color(shares.colors[arm]), `${shares.arms[arm]}: ${whole(count)} of ${whole(all)} decisions from ${when(time)} UTC`);
      });
      if (others) part(100 * others / all, "var(--line)", `other arms: ${whole(others)} of ${whole(all)} decisions from ${when(time)} UTC`);
    });
    const changes = shares.changes.filter(({ time }) => time >= first);
    for (const { time, text } of changes) {
      const line = svg("line", { x1: x(time), x2: x(time), y1: 0, y2: 100, stroke: "var(--ink)", "stroke-width": 2, "stroke-dasharray": "4 3", "vector-effect": "non-scaling-stroke" });
      line.append(svg("title", {}, `${when(time)} UTC: ${text}`));
      picture.append(line);
    }
    const items = [...kept].sort((a, b) => a - b).map((arm) =>
      el("li", {}, named({ arm: shares.arms[arm], color: shares.colors[arm] }), shares.available[arm] ? "" : " (retired)"));
    if (kept.size < shares.arms.length) items.push(el("li", {}, `and ${whole(shares.arms.length - kept.size)} others (without color)`));
    return [
      el("ul", { class: "legend" }, ...items),
      el("div", { class: "chart" }, picture),
      el("div", { class: "along" }, el("span", {}, when(first, length)), el("span", {}, "share of decisions, 0 to 100%; times in UTC"), el("span", {}, when(Math.min(last, Date.now() / 1000), length))),
      ...changes.map(({ time, text }) => el("p", { class: "sub" }, `${when(time)} UTC, dashed line: ${text}; the evidence and the weights began again`)),
    ];
  }

  const certificate = (about) => el("div", { class: "scroll" }, el("table", { class: "certificate" }, el("tbody", {},
    ...[["learner", about.learner], ...about.certificate].map(([name, value]) => el("tr", {}, el("th", { scope: "row" }, name), el("td", {}, value))))));

  const fold = (id, title, open, ...content) => {
    const found = el("details", { class: "fold", id, open }, el("summary", {}, title), ...content);
    found.addEventListener("toggle", () => { if (found.open) look(); });
    return found;
  };

  // A panel keeps its inputs and open parts while its numbers are refreshed.
  const PAGE_SIZE = 25;
  function makePanel(name) {
    const path = `/v1/learners/${encodeURIComponent(name)}`;
    const part = (id) => el("div", { id });
    const [answer, over, keyTable, keyDetail, lines, forms] = ["answer", "over", "key-table", "key-detail", "lines", "forms"].map(part);
    const search = el("input", { type: "search", placeholder: "part of a key", "aria-label": "Search keys" });
    const keysPart = el("section", { id: "keys", hidden: true }, el("h3", {}, "Keys"), search, keyTable, keyDetail);
    const certificates = fold("certificate", "Certificate: what is proved about this learner", false, lines);
    const changing = fold("change", "Add, rename or retire arms", false, forms);
    const element = el("section", { "data-learner": name }, answer, el("h3", {}, "Weights over time"), over, keysPart, changing, certificates);
    let start = 0;
    let chosen = null;
    let formsFor = "";
    let latest = null;

    search.addEventListener("input", () => { start = 0; act(listKeys); });
    const act = (work) => work().then(() => message(""), (error) => message(error.message));

    async function listKeys() {
      const asked = search.value;
      const found = await request(`${path}/keys?search=${encodeURIComponent(asked)}&start=${start}&limit=${PAGE_SIZE}`);
      if (asked !== search.value) return; // a later search is under way
      const unit = units(latest.loss_range, 0.01 * (latest.loss_range[1] - latest.loss_range[0]));
      const colors = new Map(latest.arms.map((arm) => [String(arm.arm), arm.color]));
      const text = (key) => typeof key === "object" ? key.number : key;
      const rows = found.keys.map((one) => el("tr", {},
        el("td", {}, el("button", { type: "button", class: "plain", "aria-pressed": String(chosen !== null && JSON.stringify(chosen) === JSON.stringify(one.key)), onclick: () => { chosen = one.key; act(async () => { await showKey(); await listKeys(); }); } }, text(one.key))),
        el("td", { class: "n", "data-label": "decisions" }, whole(one.decisions)),
        el("td", { class: "n", "data-label": "pending" }, whole(one.pending)),
        el("td", { class: "n", "data-label": latest.gains ? "average reward" : "average loss" }, one.mean === null ? "–" : unit.near(one.mean)),
        el("td", { "data-label": "next" }, named({ arm: one.arm, color: colors.get(String(one.arm)) ?? "gray" }), ` ${chance(one.probability)}`)));
      const turn = (by, label, off) => el("button", { type: "button", disabled: off, onclick: () => { start += by; act(listKeys); } }, label);
      const end = start + found.keys.length;
      const matching = asked ? ` that contain “${asked}”, of ${whole(found.total)}` : "";
      keyTable.replaceChildren(
        el("div", { class: "pages" }, turn(-PAGE_SIZE, "Previous", start === 0), turn(PAGE_SIZE, "Next", end >= found.found),
          el("span", {}, found.found ? `${whole(start + 1)} to ${whole(end)} of ${whole(found.found)} keys${matching}; those with the most decisions first` : `0 keys${matching}`)),
        el("div", { class: "scroll" }, el("table", { class: "keys" },
          el("thead", {}, el("tr", {}, ...[["key", ""], ["decisions", "n"], ["pending", "n"], [latest.gains ? "average reward" : "average loss", "n"], ["most likely next arm", ""]].map(([label, kind]) => el("th", { class: kind, scope: "col" }, label)))),
          el("tbody", {}, ...rows))));
    }

    async function showKey() {
      if (chosen === null) return;
      const number = typeof chosen === "object";
      const asked = `key=${encodeURIComponent(number ? chosen.number : chosen)}${number ? "&kind=number" : ""}`;
      const [arms, about] = await Promise.all([request(`${path}/arms?${asked}`), request(`${path}?${asked}`)]);
      const unit = units(arms.loss_range, 0.01 * (arms.loss_range[1] - arms.loss_range[0]));
      const rows = arms.arms.map((arm) => el("tr", {}, el("td", {}, named(arm), arm.available ? null : el("small", {}, " retired")),
        el("td", { class: "n", "data-label": "impressions" }, whole(arm.shown)),
        el("td", { class: "n", "data-label": arms.gains ? "rewards" : "losses" }, sum(arm.total)),
        el("td", { class: "n", "data-label": arms.gains ? "average reward" : "average loss" }, arm.settled ? unit.near(arm.total / arm.settled) : "–"),
        el("td", { class: "n", "data-label": "next decision" }, arm.available ? chance(arm.probability) : "–")));
      const since = arms.since === null ? "" : `, counted since ${when(arms.since)} UTC`;
      const opened = document.getElementById("key-certificate")?.open ?? false;
      keyDetail.replaceChildren(el("div", { class: "card" },
        el("h3", {}, `Key ${number ? chosen.number : chosen}`),
        el("p", { class: "sub" }, `${whole(about.rounds)} settled decisions and ${whole(about.open)} pending${since}`),
        el("div", { class: "scroll" }, el("table", { class: "arms" },
          el("thead", {}, el("tr", {}, ...[["arm", ""], ["impressions", "n"], [arms.gains ? "rewards" : "losses", "n"], [arms.gains ? "average reward" : "average loss", "n"], ["next decision", "n"]].map(([label, kind]) => el("th", { class: kind, scope: "col" }, label)))),
          el("tbody", {}, ...rows))),
        el("details", { class: "fold", id: "key-certificate", open: opened }, el("summary", {}, "Certificate of this key"), certificate(about))));
    }

    // Changes of arms. The effect is stated before anything changes.
    const send = (question, method, where, body, told) => {
      if (!confirm(question)) return;
      act(async () => { await request(where, method, body); formsFor = ""; await refresh(); document.getElementById("changed").textContent = told; });
    };
    function drawForms(arms) {
      const usable = arms.arms.filter((arm) => arm.available);
      const state = JSON.stringify([arms.stage, usable.map((arm) => arm.arm)]);
      if (state === formsFor) return;
      formsFor = state;
      const rows = usable.map((arm) => {
        const input = el("input", { value: String(arm.arm), "aria-label": `New name of ${arm.arm}`, maxlength: 200 });
        const where = `${path}/arms/${encodeURIComponent(arm.arm)}`;
        return el("form", { onsubmit: (event) => {
          event.preventDefault();
          send(`Rename ${arm.arm} to ${input.value}? Its decisions, evidence and weights are kept.`, "PATCH", where, { name: input.value }, `${arm.arm} is now called ${input.value}.`);
        } }, el("label", {}, swatch(arm.color), input), el("button", {}, "Rename"),
        el("button", { type: "button", disabled: arms.on_retire === null, onclick: () => send(`Retire ${arm.arm}? ${arms.on_retire}.`, "DELETE", where, undefined, `${arm.arm} was retired. ${arms.on_retire}.`) }, "Retire"));
      });
      const input = el("input", { placeholder: "new arm", "aria-label": "Name of the new arm", maxlength: 200, required: true });
      const adding = arms.on_add === null
        ? el("p", { class: "sub" }, "This learner has no free place for another arm.")
        : el("form", { onsubmit: (event) => {
          event.preventDefault();
          send(`Add ${input.value}? ${arms.on_add}.`, "POST", `${path}/arms`, { arm: input.value }, `${input.value} was added. ${arms.on_add}.`);
        } }, el("label", {}, input), el("button", {}, "Add"));
      const effects = [arms.on_add && `Adding an arm: ${arms.on_add}.`, arms.on_retire && `Retiring an arm: ${arms.on_retire}.`, "Renaming an arm: its decisions, evidence and weights are kept."].filter(Boolean);
      forms.replaceChildren(el("p", { id: "changed", role: "status" }), el("p", { class: "sub" }, effects.join(" ")), el("div", { class: "forms" }, ...rows, adding));
    }

    async function refresh() {
      const arms = await request(`${path}/arms`);
      const comparable = arms.arms.length > 1 && arms.arms[0].shown !== null;
      const [evidence, shares] = await Promise.all([comparable ? request(`${path}/evidence`) : null, request(`${path}/shares`)]);
      latest = arms;
      const [headline, explained] = verdict(arms, evidence);
      answer.replaceChildren(el("h2", {}, arms.name), el("p", { class: "verdict" }, headline),
        ...(explained ? [el("p", { class: "sub" }, explained)] : []), tiles(arms, evidence), ...armTable(arms, evidence).filter(Boolean), ...notes(arms, evidence));
      over.replaceChildren(...chart(shares));
      drawForms(arms);
      keysPart.hidden = !arms.keys;
      if (arms.keys) await listKeys();
      if (chosen !== null) await showKey();
      if (certificates.open || !lines.firstChild) lines.replaceChildren(certificate(await request(path)));
    }
    return { name, element, refresh };
  }

  let panel = null;
  async function look() {
    try {
      const { learners } = await request("/v1/learners");
      const place = document.getElementById("panel");
      const nav = document.getElementById("learners");
      document.getElementById("login").hidden = true;
      const asked = decodeURIComponent(location.hash.slice(1));
      const name = learners.includes(asked) ? asked : learners[0];
      nav.hidden = learners.length < 2;
      nav.replaceChildren(...learners.map((one) => el("a", { href: `#${encodeURIComponent(one)}`, "aria-current": one === name && "true" }, one)));
      if (name === undefined) {
        panel = null;
        place.replaceChildren(el("p", { class: "verdict" }, "No learners yet"),
          el("p", { class: "sub" }, "Add one: hannan serve STORE --add banner=red,blue --wait 1h --default 0, or POST /v1/learners."));
      } else {
        const next = panel?.name === name ? panel : makePanel(name);
        await next.refresh();
        if (panel !== next) { panel = next; place.replaceChildren(next.element); }
        document.title = `${name}: decisions`;
      }
      message("");
    } catch (error) {
      message(error.message);
    }
  }
  document.getElementById("login").addEventListener("submit", (event) => {
    event.preventDefault();
    token = document.getElementById("token").value;
    sessionStorage.setItem("hannan-token", token);
    look();
  });
  addEventListener("hashchange", look);
  document.getElementById("version").textContent = "hannan VERSION";
  look();
  setInterval(() => { if (!document.hidden) look(); }, 5000);
})();
