// @ts-check
/** Problems in the reader's words. */

import { words } from "../words/index.js";

const MINUTE_S = 60;
/** Less than this is over before it is read. */
const MOMENT_S = 10;

/**
 * @param {import("../wire/problem.js").Problem} problem
 * @returns {string} what happened, from when it may work again, and the reference that an operator can look up
 */
export function explain(problem) {
  const { problems, until, untilMoment, untilSeconds, requestId } = words.t;
  const slug = /** @type {keyof typeof problems} */ (problem.slug);
  const sentences = [problems[slug] ?? problems.internal];
  const left = problem.until ? Math.ceil((problem.until.getTime() - Date.now()) / 1000) : 0;
  // The clock's time says nothing where it is this very minute.
  if (problem.until && left >= MINUTE_S) sentences.push(until(words.time(problem.until)));
  else if (left > 0) sentences.push(left < MOMENT_S ? untilMoment : untilSeconds(left));
  if (slug === "internal" && problem.requestId) sentences.push(requestId(problem.requestId));
  return sentences.join(" ");
}

/** @param {unknown} cause @returns {import("../wire/problem.js").Problem | null} */
export function asProblem(cause) {
  return cause instanceof Error && cause.name === "Problem" ? /** @type {any} */ (cause) : null;
}
