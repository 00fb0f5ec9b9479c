// @ts-check
/** Problems in the reader's words. */

import { words } from "../words/index.js";

/**
 * @param {import("../wire/problem.js").Problem} problem
 * @returns {string} what happened, from when it may work again, and the reference that an operator can look up
 */
export function explain(problem) {
  const { problems, until, requestId } = words.t;
  const slug = /** @type {keyof typeof problems} */ (problem.slug);
  const sentences = [problems[slug] ?? problems.internal];
  if (problem.until && problem.until.getTime() > Date.now()) sentences.push(until(words.time(problem.until)));
  if (slug === "internal" && problem.requestId) sentences.push(requestId(problem.requestId));
  return sentences.join(" ");
}

/** @param {unknown} cause @returns {import("../wire/problem.js").Problem | null} */
export function asProblem(cause) {
  return cause instanceof Error && cause.name === "Problem" ? /** @type {any} */ (cause) : null;
}
