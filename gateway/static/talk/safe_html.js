// @ts-check
/**
 * The one place where HTML made by the server becomes nodes of the page.
 *
 * The server has sanitised it already. Here it is parsed into a document that loads and runs nothing, and only what is
 * on the list below is copied over, node by node: a mistake on either side alone does not reach the visitor. Nothing
 * copied can fetch: no image, no frame, no style, no form. A test plays a corpus of attacks through it.
 */

const KEPT = new Set(
  "p br strong em b i del s code pre ul ol li blockquote h1 h2 h3 h4 h5 h6 hr table thead tbody tr th td a sup sub span".split(
    " ",
  ),
);
/** Dropped with all that is in them; any other unknown element leaves its children. */
const DROPPED = new Set(
  "script style template noscript iframe object embed svg math head title textarea select option audio video canvas link meta base form".split(
    " ",
  ),
);
/** @type {Record<string, readonly string[]>} */
const ATTRIBUTES = {
  ol: ["start"],
  th: ["align"],
  td: ["align"],
  code: ["class"],
  sup: ["data-citation"],
  a: ["data-citation"],
  span: ["data-citation"],
};
/** A model's nesting is never this deep on purpose. */
const MAX_DEPTH = 32;

/** @typedef {{ createHTML: (html: string) => any }} HtmlPolicy */

/** @type {HtmlPolicy} Trusted Types: with the page's policy no other code can turn text into HTML. */
const policy = /** @type {any} */ (globalThis).trustedTypes?.createPolicy("passeur-answers", {
  createHTML: (/** @type {string} */ html) => html,
}) ?? { createHTML: (html) => html };

/**
 * Turn sanitised HTML into nodes for the page.
 *
 * @param {string} html
 * @returns {DocumentFragment}
 */
export function safeHtml(html) {
  const inert = new DOMParser().parseFromString(policy.createHTML(html), "text/html");
  const fragment = document.createDocumentFragment();
  copyChildren(inert.body, fragment, 0);
  return fragment;
}

/** @param {Node} from @param {Node} to @param {number} depth */
function copyChildren(from, to, depth) {
  for (const child of from.childNodes) {
    if (child.nodeType === Node.TEXT_NODE) to.appendChild(document.createTextNode(child.nodeValue ?? ""));
    else if (child instanceof Element || child.nodeType === Node.ELEMENT_NODE) {
      copyElement(/** @type {Element} */ (child), to, depth);
    }
  }
}

/** @param {Element} source @param {Node} to @param {number} depth */
function copyElement(source, to, depth) {
  const tag = source.localName;
  if (DROPPED.has(tag)) return;
  if (tag === "img") to.appendChild(document.createTextNode(source.getAttribute("alt") ?? ""));
  if (!KEPT.has(tag) || depth > MAX_DEPTH) {
    copyChildren(source, to, depth);
    return;
  }
  const copy = document.createElement(lowered(tag));
  for (const name of ATTRIBUTES[tag] ?? []) {
    const value = source.getAttribute(name);
    if (value !== null) copy.setAttribute(name, value);
  }
  if (copy instanceof HTMLAnchorElement) link(copy, source.getAttribute("href") ?? "");
  copyChildren(source, copy, depth + 1);
  to.appendChild(copy);
}

/** A page has its own headings: an answer's begin below them. @param {string} tag */
function lowered(tag) {
  return /^h[1-6]$/.test(tag) ? `h${Math.min(6, Number(tag[1]) + 2)}` : tag;
}

/**
 * Links open elsewhere, tell nobody where they were clicked, and show where they lead.
 *
 * @param {HTMLAnchorElement} anchor
 * @param {string} address
 */
function link(anchor, address) {
  const target = webAddress(address);
  if (!target) return; // without an address it is plain text
  anchor.href = target;
  anchor.target = "_blank";
  anchor.rel = "noopener noreferrer nofollow";
  anchor.title = target;
}

/**
 * @param {string} address
 * @returns {string | null} the address if a visitor may be sent there
 */
export function webAddress(address) {
  try {
    const url = new URL(address);
    return ["http:", "https:", "mailto:"].includes(url.protocol) ? url.href : null;
  } catch {
    return null; // relative addresses have no meaning in an answer
  }
}
