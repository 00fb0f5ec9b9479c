// @ts-check
/** Building elements without a single string of HTML. */

/** @typedef {Node | string | null | undefined | false} Child */

/**
 * Make an element. Keys with a function are listeners (`click: …`), `true` and `false` are bare attributes, anything else
 * is an attribute's text.
 *
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, unknown>} [traits]
 * @param {...Child} children strings become text nodes
 * @returns {HTMLElementTagNameMap[K]}
 */
export function h(tag, traits = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(traits)) {
    if (typeof value === "function") element.addEventListener(name, /** @type {EventListener} */ (value));
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, String(value));
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/**
 * Wrap moments of one element: later calls replace what earlier ones showed.
 *
 * @param {Element} parent
 * @param {...Child} children
 */
export function fill(parent, ...children) {
  parent.replaceChildren(...children.filter((child) => child !== null && child !== undefined && child !== false));
}

/**
 * Find what must be there.
 *
 * @template {Element} T
 * @param {ParentNode} root
 * @param {string} selector
 * @param {new () => T} type
 * @returns {T}
 */
export function must(root, selector, type) {
  const found = root.querySelector(selector);
  if (!(found instanceof type)) throw new Error(`missing in the page: ${selector}`);
  return found;
}
