"use strict";
(() => {
  const form = document.getElementById("filters");
  if (!form) return;
  const search = document.getElementById("search");
  const rule = document.getElementById("rule");
  const place = document.getElementById("place");
  const waste = document.getElementById("waste");
  const shown = document.getElementById("shown");
  const severities = [...form.querySelectorAll("[name=severity]")];
  const groups = [...document.querySelectorAll("section.rule")].map((element) => ({
    element,
    count: element.querySelector(".count"),
    text: element.querySelector(".count").textContent,
    cards: [...element.querySelectorAll(".finding")].map((card) => ({
      element: card,
      data: card.dataset,
      clusters: card.dataset.clusters.split(" "),
      text: "",
    })),
  }));
  const whole = shown.value;
  const total = groups.reduce((sum, group) => sum + group.cards.length, 0);
  const number = (count) => count.toLocaleString("en-US");

  const state = () => ({
    words: search.value.toLowerCase().split(/\s+/).filter(Boolean),
    severities: new Set(severities.filter((box) => box.checked).map((box) => box.value)),
    rule: rule.value,
    place: place ? place.value : "",
    waste: waste ? waste.checked : false,
  });

  const isAt = (card, wanted) => {
    const [kind, name] = [wanted.slice(0, wanted.indexOf(":")), wanted.slice(wanted.indexOf(":") + 1)];
    return kind === "cluster" ? card.clusters.includes(name) : card.data.path.startsWith(name + "/");
  };

  const matches = (card, wanted) => {
    if (!wanted.severities.has(card.data.severity)) return false;
    if (wanted.rule && card.data.rule !== wanted.rule) return false;
    if (wanted.waste && card.data.waste === undefined) return false;
    if (wanted.place && !isAt(card, wanted.place)) return false;
    if (!wanted.words.length) return true;
    card.text = card.text || `${card.data.rule} ${card.element.textContent}`.toLowerCase();
    return wanted.words.every((word) => card.text.includes(word));
  };

  const apply = () => {
    const wanted = state();
    let sum = 0;
    for (const group of groups) {
      let own = 0;
      for (const card of group.cards) {
        const isShown = matches(card, wanted);
        if (card.element.hidden === isShown) card.element.hidden = !isShown;
        own += isShown;
      }
      group.element.hidden = own === 0;
      group.count.textContent = own === group.cards.length ? group.text : `${number(own)} of ${group.text}`;
      sum += own;
    }
    shown.value = sum === total ? whole : `${number(sum)} of ${whole}`;
  };

  const remember = () => {
    const wanted = new URLSearchParams();
    if (search.value) wanted.set("q", search.value);
    const boxes = severities.filter((box) => box.checked).map((box) => box.value);
    if (boxes.length < severities.length) wanted.set("severity", boxes.join(","));
    if (rule.value) wanted.set("rule", rule.value);
    if (place && place.value) wanted.set("in", place.value);
    if (waste && waste.checked) wanted.set("waste", "1");
    const text = wanted.toString();
    try {
      history.replaceState(null, "", text ? `#${text}` : "#findings");
    } catch {
      // a page in a sandbox has no history
    }
  };

  const recall = () => {
    if (!location.hash.includes("=")) return;
    const wanted = new URLSearchParams(location.hash.slice(1));
    search.value = wanted.get("q") || "";
    const boxes = wanted.has("severity") ? wanted.get("severity").split(",") : severities.map((box) => box.value);
    for (const box of severities) box.checked = boxes.includes(box.value);
    rule.value = wanted.get("rule") || "";
    if (place) place.value = wanted.get("in") || "";
    if (waste) waste.checked = wanted.has("waste");
    apply();
  };

  let timer = 0;
  const change = () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      apply();
      remember();
    }, 60);
  };
  form.addEventListener("input", change);
  form.addEventListener("change", change);
  form.addEventListener("reset", change);
  form.addEventListener("submit", (event) => event.preventDefault());
  addEventListener("hashchange", recall);
  form.hidden = false;
  recall();
})();
