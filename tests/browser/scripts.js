// What tests measure in a page: an object of functions, each of which returns a list of what is wrong.
({
  // Elements that are wider than the page, which then scrolls sideways.
  wide() {
    const width = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth <= width && document.body.scrollWidth <= width) return [];
    const all = [...document.body.querySelectorAll("*")];
    return ["the page scrolls sideways", ...all.filter((one) => one.getBoundingClientRect().right > width + 1)
      .slice(0, 5).map((one) => one.outerHTML.slice(0, 120))];
  },

  // Headings that skip a level, and pages without a single h1.
  headings() {
    const levels = [...document.querySelectorAll("h1,h2,h3,h4,h5,h6")].map((one) => [Number(one.tagName[1]), one.textContent.trim()]);
    const found = levels.filter(([level]) => level === 1).length === 1 ? [] : ["not one h1"];
    levels.forEach(([level, text], at) => {
      if (level > (at ? levels[at - 1][0] : 0) + 1) found.push(`h${level} ${text} skips a level`);
      if (!text) found.push(`h${level} is empty`);
    });
    return found;
  },

  // Pictures that a screen reader does not know as such.
  pictures() {
    return [...document.querySelectorAll("svg")].filter((one) => !one.parentElement.closest("svg"))
      .filter((one) => one.getAttribute("role") !== "img" && one.getAttribute("aria-hidden") !== "true")
      .map((one) => one.outerHTML.slice(0, 120));
  },

  // Links to other pages that cannot be told apart: one text for several addresses.
  links() {
    const found = new Map();
    for (const one of document.querySelectorAll("a[href]:not([href^='#'])")) {
      const name = (one.getAttribute("aria-label") || one.textContent).trim();
      found.set(name, (found.get(name) || new Set()).add(one.getAttribute("href")));
    }
    return [...found].filter(([, addresses]) => addresses.size > 1).map(([name]) => name);
  },

  // What Tab should reach, in the order of the document.
  stops() {
    const all = [...document.querySelectorAll("*")];
    const wanted = "a[href],button,input,select,textarea,summary,[tabindex]";
    return all.map((one, at) => [one, at])
      .filter(([one]) => one.matches(wanted) && one.tabIndex >= 0 && !one.disabled && one.checkVisibility({visibilityProperty: true}))
      .filter(([one]) => !(one.matches("input[type=radio]") && !one.checked))
      .map(([one, at]) => ({at, what: one.outerHTML.slice(0, 120)}));
  },

  // Elements that nobody sees, of those that match.
  hidden(selector) {
    return [...document.querySelectorAll(selector)].filter((one) => !one.checkVisibility({visibilityProperty: true}))
      .map((one) => one.outerHTML.slice(0, 120));
  },

  // Cells that end beyond the right edge of a sheet of this width.
  cut(width) {
    return [...document.querySelectorAll("td,th,svg")].filter((one) => one.getBoundingClientRect().right > width + 1)
      .map((one) => one.outerHTML.slice(0, 120));
  },

  // Text that is drawn smaller than anybody reads.
  tiny() {
    return [...document.querySelectorAll("svg text")].filter((one) => one.checkVisibility() && one.textContent.trim())
      .filter((one) => parseFloat(getComputedStyle(one).fontSize) * one.getScreenCTM().d < 8.5)
      .map((one) => one.textContent.slice(0, 40));
  },

  // Text whose contrast to what is behind it is less than 4.5, or 3 where it is large.
  contrast() {
    const parse = (text) => {
      const numbers = (text.match(/[\d.]+/g) || []).map(Number);
      return /^rgb/.test(text) ? [numbers[0], numbers[1], numbers[2], numbers.length > 3 ? numbers[3] : 1] : null;
    };
    const over = (top, low) => [0, 1, 2].map((i) => top[i] * top[3] + low[i] * (1 - top[3])).concat(1);
    const light = (color) => {
      const [r, g, b] = color.slice(0, 3).map((part) => part / 255)
        .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const ratio = (one, other) => {
      const [high, low] = [light(one), light(other)].sort((a, b) => b - a);
      return (high + 0.05) / (low + 0.05);
    };
    const paint = (one) => {
      const style = getComputedStyle(one);
      const drawn = one instanceof SVGElement && !["svg", "g", "text", "tspan"].includes(one.tagName);
      const color = parse(drawn ? style.fill : style.backgroundColor) || [0, 0, 0, 0];
      return drawn ? color.slice(0, 3).concat(color[3] * parseFloat(style.fillOpacity)) : color;
    };
    const behind = (one, x, y) => {
      const layers = [];
      for (const other of document.elementsFromPoint(x, y)) {
        if (other.contains(one) || !one.contains(other)) layers.push(paint(other));
      }
      let color = [255, 255, 255, 1];
      if (matchMedia("screen and (prefers-color-scheme: dark)").matches) color = [18, 18, 18, 1];
      for (const layer of layers.reverse()) color = over(layer, color);
      return color;
    };
    const found = new Map();
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const texts = [];
    while (walker.nextNode()) if (walker.currentNode.data.trim()) texts.push(walker.currentNode);
    let count = 0;
    for (const node of texts) {
      const one = node.parentElement;
      if (["SCRIPT", "STYLE", "title", "desc", "TITLE"].includes(one.tagName)) continue;
      if (!one.checkVisibility({visibilityProperty: true, opacityProperty: true})) continue;
      const range = document.createRange();
      range.selectNodeContents(node);
      let box = range.getClientRects()[0];
      if (!box || box.width < 2) continue;
      if (box.top < 0 || box.bottom > innerHeight) {
        scrollBy(0, box.top - innerHeight / 2);
        box = range.getClientRects()[0];
      }
      if (box.right < 0 || box.left > innerWidth) continue; // scrolled out of its own place
      const style = getComputedStyle(one);
      const drawn = one instanceof SVGElement;
      const haloed = drawn && style.paintOrder.startsWith("stroke") && parseFloat(style.strokeWidth) >= 3;
      const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && Number(style.fontWeight) >= 700);
      count += 1;
      for (const share of [0.1, 0.5, 0.9]) {
        const x = Math.min(Math.max(box.left + box.width * share, 0), innerWidth - 1);
        const back = haloed ? parse(style.stroke) : behind(one, x, box.top + box.height / 2);
        const color = over(parse(drawn ? style.fill : style.color), back);
        const reached = ratio(color, back);
        if (reached < (large ? 3 : 4.5)) found.set(`${node.data.trim().slice(0, 40)}: ${reached.toFixed(2)}`, 1);
      }
    }
    scrollTo(0, 0);
    return count ? [...found.keys()] : ["no text was measured"];
  },
})
