// What pages can do with scripts: read themselves again when something changed, the keyboard, and plots.
// Without it they work all the same.
"use strict";
(() => {
  const editable = (node) => node && (node.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(node.tagName));

  // Live parts --------------------------------------------------------------------------------------------------------
  // The stream says what changed. A part that shows it is read again from the page's own address, at most once a second.
  const state = document.querySelector("[data-live-state]");
  const live = () => [...document.querySelectorAll("[data-live]")];
  let due = null, reading = false, last = 0;

  const read = async () => {
    due = null;
    if (reading || document.hidden) { due = setTimeout(read, 500); return; }
    reading = true;
    try {
      const answer = await fetch(location.href, { headers: { "X-Live": "1" }, credentials: "same-origin", redirect: "manual" });
      if (!answer.ok) return;
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      for (const part of live()) {
        const fresh = page.getElementById(part.id);
        if (fresh && fresh.innerHTML !== part.innerHTML && !part.contains(editable(document.activeElement) ? document.activeElement : null)) {
          const chosen = new Set([...part.querySelectorAll("input:checked")].map((one) => one.value));
          part.innerHTML = fresh.innerHTML;
          for (const one of part.querySelectorAll("input[type=checkbox]")) one.checked = chosen.has(one.value);
          part.classList.remove("changed");
          void part.offsetWidth;
          part.classList.add("changed");
          if (window.htmx) window.htmx.process(part);
          document.dispatchEvent(new CustomEvent("recoup:read", { detail: part }));
        }
      }
    } finally {
      reading = false;
      last = Date.now();
    }
  };

  const listen = () => {
    if (!live().length && !document.querySelector("[data-plot]")) return;
    const stream = new EventSource(`/live?since=${encodeURIComponent(document.body.dataset.since || "")}`);
    stream.addEventListener("hello", () => { if (state) state.hidden = false; });
    stream.addEventListener("changed", (event) => {
      const topics = JSON.parse(event.data);
      const wanted = live().some((part) => part.dataset.live.split(" ").some((one) => one === "*" || topics.includes(one)));
      if (wanted && due === null) due = setTimeout(read, Math.max(50, 1000 - (Date.now() - last)));
    });
    stream.addEventListener("error", () => { if (state) state.hidden = true; });
    addEventListener("pagehide", () => stream.close());
  };

  // The keyboard ------------------------------------------------------------------------------------------------------
  const rows = () => [...document.querySelectorAll("tr[data-row], li[data-row]")];
  const help = document.getElementById("help");
  const places = { o: "/", e: "/errors", q: "/errors/queue", r: "/recovery" };
  let going = false;

  const step = (by) => {
    const all = rows();
    if (!all.length) return;
    const at = all.findIndex((row) => row.classList.contains("current"));
    const next = all[Math.min(Math.max(at + by, 0), all.length - 1)] || all[0];
    all.forEach((row) => row.classList.toggle("current", row === next));
    next.scrollIntoView({ block: "nearest" });
    const link = next.querySelector("a");
    if (link) link.focus({ preventScroll: true });
  };

  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || editable(event.target)) {
      if (event.key === "Escape" && editable(event.target)) event.target.blur();
      return;
    }
    if (going) {
      going = false;
      if (places[event.key]) location.href = places[event.key];
      return;
    }
    const current = document.querySelector("tr.current, li.current");
    if (event.key === "/") { event.preventDefault(); document.querySelector("[data-search]")?.focus(); }
    else if (event.key === "j") step(1);
    else if (event.key === "k") step(-1);
    else if (event.key === "x") { const box = current?.querySelector("input[type=checkbox]"); if (box) box.click(); }
    else if (event.key === "g") going = true;
    else if (event.key === "?" && help) help.open ? help.close() : help.showModal();
  });
  const asked = document.querySelector("[data-help]");
  if (asked && help) { asked.hidden = false; asked.addEventListener("click", () => help.showModal()); }

  // Small things ------------------------------------------------------------------------------------------------------
  document.addEventListener("change", (event) => {
    const all = event.target.closest?.("[data-all]");
    if (all) for (const box of document.querySelectorAll(`input[name="${all.dataset.all}"]`)) box.checked = all.checked;
  });
  // A form that is sent twice by a double click is one request; its button says that it was sent.
  document.addEventListener("submit", (event) => {
    const button = event.submitter;
    if (button && event.target.method === "post") setTimeout(() => { button.disabled = true; }, 0);
  });

  listen();
})();
