// @ts-check
/** What the gateway wrote into the page about the project that its address names (see `gateway/web/pages.py`). */

/**
 * @typedef {object} Project
 * @property {string} key the public key; "" where the address names no project
 * @property {string} name
 * @property {readonly string[]} languages those that the project speaks; none stated means all
 * @property {string} defaultLanguage
 * @property {Record<string, string>} greeting by language
 * @property {string | null} unknownKey the key that no project has; "" where one is needed and missing; null: all is well
 */

/** @returns {Project} */
function read() {
  const written = globalThis.document?.querySelector('meta[name="passeur-project"]')?.getAttribute("content");
  const known = written ? JSON.parse(written) : {};
  return {
    key: known.key ?? "",
    name: known.name ?? "Passeur",
    languages: known.languages ?? [],
    defaultLanguage: known.default_language ?? "",
    greeting: known.greeting ?? {},
    unknownKey: known.unknown_key ?? null,
  };
}

export const project = read();
