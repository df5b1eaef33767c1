// Sections of the report: a heading and its parts; long lists grow.
import { $, button, el } from "../explorer/elements.js";

export const section = (id, title, ...children) => {
  const part = $(id);
  part.replaceChildren(
    el("h2", null, title),
    ...children.filter((x) => x !== null && x !== undefined),
  );
  part.hidden = false;
};
export function growing(items, most, make, what) {
  // the first of many, and a button for the rest
  const body = make(items.slice(0, most));
  if (items.length <= most) return [body.node];
  const more = button(
    `Show all ${items.length.toLocaleString("en")} ${what}`,
    () => {
      body.add(items.slice(most));
      more.remove();
    },
    { class: "more" },
  );
  return [body.node, el("p", null, more)];
}
