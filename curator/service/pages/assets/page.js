// Keeps a page up to date: loads its parts every two seconds and replaces those that changed.
// Without this script a page works the same, and is loaded again by hand.
"use strict";

(() => {
  const PERIOD = 2000, QUIET = 4000, TYPING = 200;
  const live = document.querySelector("[data-live]");
  if (!live) return;

  const news = document.getElementById("news");
  const connection = document.getElementById("connection");
  const pause = document.getElementById("pause");
  const filter = document.querySelector("form.filter");
  const closed = new Set();
  const shown = new Map();
  let tag = null, paused = false, announced = 0, asked = 0, timer = 0, typing = 0;

  const parts = (where) => where.querySelectorAll("[data-part]");
  const placed = (where, place) =>
    [...where.querySelectorAll("[data-place]")].find((each) => each.dataset.place === place);

  // What people have unfolded, focused or selected stays as it is.
  function replace(old, fresh) {
    if (shown.get(old.dataset.part) === fresh.outerHTML) return;
    const selection = document.getSelection();
    if (!selection.isCollapsed && old.contains(selection.anchorNode)) return;
    shown.set(old.dataset.part, fresh.outerHTML);
    for (const each of old.querySelectorAll("details")) {
      if (each.open) closed.delete(each.dataset.place);
      else closed.add(each.dataset.place);
    }
    for (const each of fresh.querySelectorAll("details")) {
      each.open = !closed.has(each.dataset.place);
    }
    const held = old.contains(document.activeElement) ? document.activeElement : null;
    const home = held && held.closest("[data-place]");
    const scrolled = [...old.querySelectorAll(".scroll")].map((each) => each.scrollLeft);
    if (fresh.dataset.news) old.dataset.news = fresh.dataset.news;
    old.replaceChildren(...fresh.childNodes);
    old.querySelectorAll(".scroll").forEach((each, at) => { each.scrollLeft = scrolled[at] || 0; });
    if (home) {
      const again = placed(old, home.dataset.place);
      if (again) (again.matches("details") ? again.querySelector("summary") : again).focus({ preventScroll: true });
    } else if (held && held.matches(".scroll")) {
      const label = held.getAttribute("aria-label");
      const again = [...old.querySelectorAll(".scroll")].find((each) => each.getAttribute("aria-label") === label);
      if (again) again.focus({ preventScroll: true });
    }
  }

  // Screen readers hear of changes at most every four seconds.
  function announce() {
    const text = [...document.querySelectorAll("[data-news]")].map((each) => each.dataset.news).join(" ").trim();
    if (!text || text === live.dataset.said) return;
    if (live.dataset.said === undefined) { live.dataset.said = text; return; }
    if (Date.now() - announced < QUIET) return;
    announced = Date.now();
    live.dataset.said = text;
    news.textContent = text;
  }

  function say(text) {
    if (connection.textContent !== text) connection.textContent = text;
  }

  async function load() {
    const number = ++asked;
    const address = live.dataset.live + location.search;
    try {
      const reply = await fetch(address, { headers: tag ? { "If-None-Match": tag } : {}, cache: "no-store" });
      if (number !== asked) return;
      if (reply.status === 401) { location.assign("/login"); return; }
      if (reply.status === 200) {
        const text = await reply.text();
        if (number !== asked) return;
        tag = reply.headers.get("ETag");
        const fresh = new DOMParser().parseFromString(text, "text/html");
        for (const each of parts(document)) {
          const other = [...parts(fresh)].find((one) => one.dataset.part === each.dataset.part);
          if (other) replace(each, other);
        }
      } else if (reply.status !== 304) {
        tag = null;
        say("The data set is not served now. Trying again.");
        return;
      }
      say(paused ? "" : "Updates by itself");
      announce();
    } catch {
      tag = null;
      say("The curator does not answer. Trying again.");
    }
  }

  async function tick() {
    clearTimeout(timer);
    if (!paused && !document.hidden) await load();
    timer = setTimeout(tick, PERIOD);
  }

  function filtered() {
    const given = new URLSearchParams();
    for (const [name, value] of new FormData(filter)) if (value.trim()) given.set(name, value.trim());
    const query = given.toString();
    history.replaceState(null, "", location.pathname + (query ? "?" + query : ""));
    tag = null;
    load();
  }

  live.hidden = false;
  announce();
  pause.addEventListener("click", () => {
    paused = !paused;
    pause.setAttribute("aria-pressed", String(paused));
    say(paused ? "Paused" : "");
    if (!paused) tick();
  });
  document.addEventListener("visibilitychange", () => { if (!document.hidden) tick(); });
  if (filter) {
    filter.addEventListener("submit", (event) => { event.preventDefault(); filtered(); });
    filter.addEventListener("input", () => { clearTimeout(typing); typing = setTimeout(filtered, TYPING); });
  }
  tick();
})();
