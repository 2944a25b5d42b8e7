// Making elements, and writing numbers as people read them.

type Child = Node | string | number | null | undefined | false;

/** h makes an element. Properties that begin with "on" are listeners, the others attributes; true is an empty one. */
export function h(tag: string, props: Record<string, unknown> = {}, ...children: (Child | Child[])[]): HTMLElement {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) e.addEventListener(name.slice(2), value as EventListener);
    else e.setAttribute(name, value === true ? "" : String(value));
  }
  put(e, ...children);
  return e;
}

/** put appends children. */
export function put(e: Element, ...children: (Child | Child[])[]): void {
  for (const c of children.flat()) {
    if (c === null || c === undefined || c === false) continue;
    e.append(typeof c === "number" ? String(c) : c);
  }
}

/** fill replaces what an element has. */
export function fill(e: Element, ...children: (Child | Child[])[]): void {
  e.replaceChildren();
  put(e, ...children);
}

/** keepingFocus makes parts of an element anew; what had the focus, by its data-key, has it again. */
export function keepingFocus(of: HTMLElement, make: () => void): void {
  const at = document.activeElement as HTMLElement | null, key = at && of.contains(at) ? at.dataset.key : undefined;
  make();
  if (key !== undefined) of.querySelector<HTMLElement>(`[data-key="${CSS.escape(key)}"]`)?.focus();
}

export function byId(id: string): HTMLElement {
  const e = document.getElementById(id);
  if (!e) throw new Error(`the page has no #${id}`);
  return e;
}

/** say tells a screen reader. */
export function say(text: string): void {
  byId("say").textContent = text;
}

const units: [number, string][] = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];

/** time writes nanoseconds with three or four digits. */
export function time(ns: number, digits = 4): string {
  const size = Math.abs(ns);
  for (const [unit, name] of units) {
    if (size >= unit || unit === 1) {
      const v = ns / unit;
      const whole = Math.max(1, Math.floor(Math.log10(Math.max(1, Math.abs(v)))) + 1);
      const text = v.toFixed(unit === 1 ? 0 : Math.max(0, digits - whole));
      return `${text.includes(".") ? text.replace(/\.?0+$/, "") : text} ${name}`;
    }
  }
  return "0";
}

/** exactTime writes a moment to the nanosecond. */
export function exactTime(ns: number): string {
  return `${(ns / 1e9).toFixed(9)} s`;
}

/** count writes a whole number; toLocaleString takes 20 ms the first time. */
export function count(n: number): string {
  return String(n).replace(/\B(?=(\d{3})+$)/g, ",");
}

export function plural(n: number, one: string, many = one + "s"): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}

export function bytes(n: number): string {
  const of: [number, string][] = [[1e9, "GB"], [1e6, "MB"], [1e3, "kB"]];
  for (const [unit, name] of of) if (n >= unit) return `${(n / unit).toFixed(1)} ${name}`;
  return `${n} B`;
}

/** shortName is a function's name without template arguments, for where room is scarce. */
export function shortName(name: string): string {
  let out = "", depth = 0;
  for (let i = 0; i < name.length; i++) {
    const c = name[i]!;
    if (c === "<" && !/(operator|\.)$/.test(out) && i > 0) depth++; // and of no <anonymous> or <lambda>
    else if (c === ">" && depth > 0 && name[i - 1] !== "-") depth--;
    else if (depth === 0) out += c;
  }
  return depth === 0 && out ? out : name;
}

/** copyButton copies a text. */
export function copyButton(text: () => string, label = "Copy"): HTMLElement {
  const b = h("button", { type: "button", class: "small" }, label);
  b.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text());
      b.textContent = "Copied";
      say("Copied");
    } catch {
      b.textContent = "Not allowed";
    }
    setTimeout(() => { b.textContent = label; }, 1500);
  });
  return b;
}
